// The blocks that have a place already, by offset, so that those whose times may meet a given time are found quickly.
//
// Time is cut into windows of several lengths. The windows of one length overlap by half, so that any stretch of time of up to half
// that length lies within one of them; its list then holds all that the stretch can meet.
#pragma once

#include <vector>

#include "plan/packing.h"

namespace hocket {

class PlacedBlocks {
 public:
  // `times`: all times are below this.
  PlacedBlocks(std::span<const Block> blocks, std::span<const std::int64_t> offsets, std::size_t times);

  void clear();
  void add(std::uint32_t block);  // its offset is known
  // In the order of their offsets; some of them may not meet the time of `block`.
  const std::vector<std::uint32_t>& near(const Block& block) const;

 private:
  static constexpr std::size_t shortest_half = 64;
  static constexpr std::size_t growth = 4;

  struct Level {
    std::size_t half;                                 // half the length of a window; window i begins at i · half
    std::vector<std::vector<std::uint32_t>> windows;  // blocks, by offset
  };

  std::span<const Block> blocks_;
  std::span<const std::int64_t> offsets_;
  std::vector<Level> levels_;  // the last has one window for all
};

}  // namespace hocket
