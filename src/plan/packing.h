// The problem under planning, without programs: blocks with a size and a time each, to be put side by side so that those whose times
// meet do not overlap, in as little space as possible. It is NP-hard; what is here comes to the lower bound on most programs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace hocket {

struct Block {
  std::int64_t size = 0;  // above 0
  std::size_t first = 0;  // times first … last, both included
  std::size_t last = 0;
  bool meets(const Block& other) const { return first <= other.last && other.first <= last; }
};

struct Packing {
  std::vector<std::int64_t> offsets;  // by block
  std::int64_t size = 0;
};

// Is a packing of this size as good as one can want? Closer to the bound no byte is worth the time.
constexpr bool is_close(std::int64_t size, std::int64_t bound) { return size - bound <= bound / 1000; }

// The largest sum of sizes at any time. Sizes must add up to less than 2^63.
std::int64_t packing_bound(std::span<const Block> blocks);

// Takes the blocks as they begin and gives each the smallest gap that it fits in, as a memory allocator would. n log n.
Packing pack_in_time(std::span<const Block> blocks);

// Takes the blocks in order of priority and gives each the lowest gap among those placed already. A block that ends up above the
// bound gets a higher priority, and all are placed again, until it is close to the bound or the effort is spent.
Packing pack_by_priority(std::span<const Block> blocks, std::int64_t effort);

// The best of these.
Packing pack(std::span<const Block> blocks, std::int64_t effort);

}  // namespace hocket
