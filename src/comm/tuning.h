// From which size on which algorithm, and how large its blocks. `hocket calibrate` measures them; these are sane without it.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <limits>
#include <string_view>

namespace hocket {

// All in bytes.
struct Tuning {
  static constexpr std::int64_t always = std::numeric_limits<std::int64_t>::max();

  std::int64_t one_shot_until = std::int64_t{256} << 10;  // all_reduce; longer ones are two_shot
  std::int64_t whole_until = std::int64_t{128} << 10;     // in as few rounds as the slots allow
  std::int64_t block = std::int64_t{256} << 10;           // of longer ones
  std::int64_t broadcast_block = std::int64_t{64} << 10;  // the same: its source is to be ahead of the others
  std::int64_t streaming_from = std::int64_t{16} << 20;   // results of other buffers than the inputs go past the cache
  std::int64_t pushing_streams_from = std::int64_t{16} << 20;
  // reduce_scatter and broadcast in symmetric memory: read inputs where they lie. Of shorter ones the caches still have the lines, and between cores that
  // share none, a line that its owner writes again takes two to three times as long as the way through the slots.
  std::int64_t pulling_from = std::int64_t{16} << 20;
  std::int64_t reading_from = always;  // all_to_all: the kernel reads what others have in their own memory
  // What these were measured with: so many ranks, and how long a round of theirs took (round_time.h). They hold while rounds take about as
  // long. 0: at any time.
  std::int64_t measured_ranks = 0;
  std::int64_t round_ns = 0;

  // Whether they do for so many ranks while their rounds take so long.
  bool hold_at(std::int64_t ranks, std::int64_t ns) const;

  static Tuning for_ranks(std::int32_t ranks, std::int64_t cores) {
    Tuning tuning;
    // What all ranks write together would not stay in the cache that they share.
    tuning.streaming_from = (std::int64_t{32} << 20) / std::bit_ceil(static_cast<std::uint32_t>(ranks));
    tuning.pushing_streams_from = tuning.streaming_from;
    tuning.pulling_from = tuning.streaming_from;
    // A round is over when all ranks have had a turn on the cores they share: few large ones are faster.
    if (ranks > cores) {
      tuning.whole_until = std::int64_t{1} << 20;
      tuning.broadcast_block = tuning.block;
    }
    return tuning;
  }
  friend bool operator==(const Tuning&, const Tuning&) = default;
};

// A round of more ranks takes longer, but not in proportion: anything between is like what was measured.
inline bool Tuning::hold_at(std::int64_t ranks, std::int64_t ns) const {
  constexpr double alike = 1.6;  // between cores that share a cache and cores that don't it is three times as long
  if (round_ns == 0) return true;
  const auto measured = static_cast<double>(round_ns);
  const double more_ranks =
      static_cast<double>(ranks - 1) / static_cast<double>(std::max<std::int64_t>(measured_ranks - 1, 1));
  const auto now = static_cast<double>(ns);
  return now * alike > measured * std::min(more_ranks, 1.0) && now < alike * measured * std::max(more_ranks, 1.0);
}

// By the number of a group's ranks that share a host: 2, 3 or 4, 5 to 8, more.
class TuningTable {
 public:
  static constexpr std::size_t rows = 4;

  // Thresholds that nobody has measured, for ranks that share so many cores.
  explicit TuningTable(std::int64_t cores = std::numeric_limits<std::int64_t>::max()) {
    for (std::size_t row = 0; row < rows; ++row) rows_[row] = Tuning::for_ranks(fewest_ranks[row], cores);
  }
  static std::size_t row_of(std::int32_t ranks) { return ranks <= 2 ? 0 : ranks <= 4 ? 1 : ranks <= 8 ? 2 : 3; }
  static std::string_view name_of_row(std::size_t row) {
    constexpr std::string_view names[rows] = {"2", "3-4", "5-8", "9 or more"};
    return names[row];
  }

  Tuning& row(std::size_t row) { return rows_[row]; }
  const Tuning& row(std::size_t row) const { return rows_[row]; }
  const Tuning& for_ranks(std::int32_t ranks) const { return rows_[row_of(ranks)]; }
  friend bool operator==(const TuningTable&, const TuningTable&) = default;

 private:
  static constexpr std::int32_t fewest_ranks[rows] = {2, 3, 5, 9};
  std::array<Tuning, rows> rows_;
};

}  // namespace hocket
