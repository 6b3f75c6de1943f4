// Large blocks are hard to place and go first; small ones fill the gaps. Where that does not come to the bound, some block stood
// at the wrong place in the line, and those that ended up too high are the ones that suffered from it: they move ahead, as
// in the "squeaky wheel" searches for schedules (Joslin and Clements, 1999). A handful of rounds is enough for real programs.
#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "plan/packing.h"
#include "plan/placed_blocks.h"

namespace hocket {

namespace {

constexpr std::int64_t most_rounds = 32;  // from each start

class PriorityPacker {
 public:
  explicit PriorityPacker(std::span<const Block> blocks)
      : blocks_(blocks),
        bound_(packing_bound(blocks)),
        priority_(blocks.size()),
        order_(blocks.size()),
        now_{std::vector<std::int64_t>(blocks.size()), 0},
        placed_(blocks, now_.offsets, times(blocks)) {}

  Packing run(std::int64_t rounds) {
    search(rounds, [](const Block& block) { return block.size; });
    if (!is_close(best_.size, bound_) && rounds > 1) search(rounds, size_and_duration);
    return std::move(best_);
  }

 private:
  // Long-lived blocks are harder to place, too. A square root is the same on every machine.
  static std::int64_t size_and_duration(const Block& block) {
    const auto duration = std::sqrt(static_cast<double>(block.last - block.first + 1));
    std::int64_t product = 0;
    const bool too_large = __builtin_mul_overflow(block.size, static_cast<std::int64_t>(duration), &product);
    return too_large ? highest : product;
  }

  template <class Weight>
  void search(std::int64_t rounds, Weight weight) {
    for (std::size_t i = 0; i < blocks_.size(); ++i) priority_[i] = weight(blocks_[i]);
    std::iota(order_.begin(), order_.end(), 0U);
    for (std::int64_t round = 0; round < rounds; ++round) {
      place_all();
      if (best_.offsets.empty() || now_.size < best_.size) best_ = now_;
      if (is_close(best_.size, bound_)) return;
      raise_those_above_the_bound();
    }
  }

  static std::size_t times(std::span<const Block> blocks) {
    std::size_t end = 1;
    for (const Block& block : blocks) end = std::max(end, block.last + 1);
    return end;
  }

  void place_all() {
    std::stable_sort(order_.begin(), order_.end(),
                     [&](std::uint32_t a, std::uint32_t b) { return priority_[a] > priority_[b]; });
    placed_.clear();
    now_.size = 0;
    for (const std::uint32_t block : order_) {
      now_.offsets[block] = lowest_gap(blocks_[block]);
      now_.size = std::max(now_.size, now_.offsets[block] + blocks_[block].size);
      placed_.add(block);
    }
  }

  std::int64_t lowest_gap(const Block& block) const {
    std::int64_t top = 0;  // of what was met so far
    for (const std::uint32_t other : placed_.near(block)) {
      if (!blocks_[other].meets(block)) continue;
      if (now_.offsets[other] - top >= block.size) return top;
      top = std::max(top, now_.offsets[other] + blocks_[other].size);
    }
    return top;
  }

  void raise_those_above_the_bound() {
    for (std::size_t i = 0; i < blocks_.size(); ++i) {
      if (now_.offsets[i] + blocks_[i].size > bound_ && priority_[i] < highest / 2) priority_[i] *= 2;
    }
  }

  static constexpr std::int64_t highest = std::numeric_limits<std::int64_t>::max();

  std::span<const Block> blocks_;
  const std::int64_t bound_;
  std::vector<std::int64_t> priority_;
  std::vector<std::uint32_t> order_;
  Packing now_;
  Packing best_;
  PlacedBlocks placed_;
};

// Pairs of blocks whose times meet: what one round looks at, about.
std::int64_t work_of_a_round(std::span<const Block> blocks) {
  std::vector<std::size_t> begins;
  std::vector<std::size_t> ends;
  for (const Block& block : blocks) {
    begins.push_back(block.first);
    ends.push_back(block.last);
  }
  std::sort(begins.begin(), begins.end());
  std::sort(ends.begin(), ends.end());
  std::int64_t pairs = 0;
  std::size_t ended = 0;
  for (std::size_t begun = 0; begun < begins.size(); ++begun) {
    while (ends[ended] < begins[begun]) ++ended;
    pairs += static_cast<std::int64_t>(begun + 1 - ended);
  }
  return std::max<std::int64_t>(pairs, 1);
}

}  // namespace

Packing pack_by_priority(std::span<const Block> blocks, std::int64_t effort) {
  const std::int64_t rounds = effort / work_of_a_round(blocks);
  return PriorityPacker(blocks).run(std::clamp<std::int64_t>(rounds, 1, most_rounds));
}

}  // namespace hocket
