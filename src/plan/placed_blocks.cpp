#include "plan/placed_blocks.h"

#include <algorithm>

namespace hocket {

PlacedBlocks::PlacedBlocks(std::span<const Block> blocks, std::span<const std::int64_t> offsets, std::size_t times)
    : blocks_(blocks), offsets_(offsets) {
  std::size_t half = shortest_half;
  for (; half < times; half *= growth)
    levels_.push_back({half, std::vector<std::vector<std::uint32_t>>(times / half + 1)});
  levels_.push_back({half, std::vector<std::vector<std::uint32_t>>(1)});
}

void PlacedBlocks::clear() {
  for (Level& level : levels_) {
    for (auto& window : level.windows) window.clear();
  }
}

void PlacedBlocks::add(std::uint32_t block) {
  const auto lower = [&](std::int64_t offset, std::uint32_t other) { return offset < offsets_[other]; };
  for (Level& level : levels_) {
    // Window i covers i · half … (i + 2) · half - 1.
    const std::size_t from = blocks_[block].first / level.half;
    const std::size_t begin = from > 0 ? from - 1 : 0;
    const std::size_t end = std::min(blocks_[block].last / level.half + 1, level.windows.size());
    for (std::size_t i = begin; i < end; ++i) {
      auto& window = level.windows[i];
      window.insert(std::upper_bound(window.begin(), window.end(), offsets_[block], lower), block);
    }
  }
}

const std::vector<std::uint32_t>& PlacedBlocks::near(const Block& block) const {
  for (const Level& level : levels_) {
    const std::size_t window = block.first / level.half;
    if (block.last < (window + 2) * level.half) return level.windows[window];
  }
  return levels_.back().windows[0];
}

}  // namespace hocket
