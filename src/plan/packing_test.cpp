#include "plan/packing.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <numeric>

#include "support/random.h"

namespace hocket {
namespace {

constexpr std::int64_t plenty = 100'000'000;

std::vector<Block> random_blocks(Random& random, std::size_t count, std::size_t times, std::int64_t largest) {
  std::vector<Block> blocks;
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t first = random.index(times);
    const std::size_t length = random.chance(20) ? random.index(times) : random.index(times / 4 + 1);
    blocks.push_back({random.between(1, largest), first, std::min(times - 1, first + length)});
  }
  return blocks;
}

// What is wrong with a packing, found pair by pair.
std::string mistake_in(const Packing& packing, const std::vector<Block>& blocks) {
  std::int64_t size = 0;
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    if (packing.offsets[i] < 0) return "an offset below zero";
    size = std::max(size, packing.offsets[i] + blocks[i].size);
    for (std::size_t k = 0; k < i; ++k) {
      const bool same_time = blocks[i].first <= blocks[k].last && blocks[k].first <= blocks[i].last;
      const bool same_bytes = packing.offsets[i] < packing.offsets[k] + blocks[k].size &&
                              packing.offsets[k] < packing.offsets[i] + blocks[i].size;
      if (same_time && same_bytes) return "blocks " + std::to_string(k) + " and " + std::to_string(i) + " overlap";
    }
  }
  return size == packing.size ? "" : "the size is not what the offsets need";
}

std::int64_t bound_by_counting(const std::vector<Block>& blocks, std::size_t times) {
  std::int64_t most = 0;
  for (std::size_t time = 0; time < times; ++time) {
    std::int64_t live = 0;
    for (const Block& block : blocks) live += block.first <= time && time <= block.last ? block.size : 0;
    most = std::max(most, live);
  }
  return most;
}

// The least size of all: in the order of the offsets of a best packing, each block lies on top of those below it.
std::int64_t least_size(const std::vector<Block>& blocks) {
  std::vector<std::size_t> order(blocks.size());
  std::iota(order.begin(), order.end(), 0U);
  std::int64_t least = std::numeric_limits<std::int64_t>::max();
  do {
    std::vector<std::int64_t> top(blocks.size());
    std::int64_t size = 0;
    for (std::size_t i = 0; i < order.size(); ++i) {
      std::int64_t offset = 0;
      for (std::size_t k = 0; k < i; ++k) {
        if (blocks[order[i]].meets(blocks[order[k]])) offset = std::max(offset, top[order[k]]);
      }
      top[order[i]] = offset + blocks[order[i]].size;
      size = std::max(size, top[order[i]]);
    }
    least = std::min(least, size);
  } while (std::next_permutation(order.begin(), order.end()));
  return least;
}

// What a memory allocator does: blocks in the order in which they begin, of those that begin together the large ones first, each in the
// smallest gap beside those that live then, of equal gaps in the lowest.
std::vector<std::int64_t> offsets_of_an_allocator(const std::vector<Block>& blocks) {
  std::vector<std::size_t> order(blocks.size());
  std::iota(order.begin(), order.end(), 0U);
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return blocks[a].first != blocks[b].first ? blocks[a].first < blocks[b].first : blocks[a].size > blocks[b].size;
  });
  std::vector<std::int64_t> offsets(blocks.size());
  for (std::size_t i = 0; i < order.size(); ++i) {
    const Block& block = blocks[order[i]];
    std::vector<std::pair<std::int64_t, std::int64_t>> live;  // from, to
    for (std::size_t k = 0; k < i; ++k) {
      const std::size_t other = order[k];
      if (blocks[other].last >= block.first) live.emplace_back(offsets[other], offsets[other] + blocks[other].size);
    }
    std::sort(live.begin(), live.end());
    std::int64_t top = 0;
    std::int64_t smallest = std::numeric_limits<std::int64_t>::max();
    std::int64_t chosen = live.empty() ? 0 : live.back().second;  // above all, where there is no gap
    for (const auto& [from, to] : live) {
      const std::int64_t gap = from - top;
      if (gap >= block.size && gap < smallest) smallest = gap, chosen = top;
      top = to;
    }
    offsets[order[i]] = chosen;
  }
  return offsets;
}

TEST(Packing, in_time_is_what_a_memory_allocator_does) {
  Random random(5);
  for (int round = 0; round < 300; ++round) {
    const auto blocks = random_blocks(random, random.index(60), random.pick({5U, 30U, 200U}), random.pick({3, 12}));
    EXPECT_EQ(pack_in_time(blocks).offsets, offsets_of_an_allocator(blocks)) << round;
  }
}

TEST(Packing, takes_many_blocks_of_one_size_and_time) {
  const std::vector<Block> blocks(1000, {8, 3, 5});
  EXPECT_EQ(packing_bound(blocks), 8000);
  EXPECT_EQ(pack(blocks, plenty).size, 8000);
}

// A round looks at all pairs of blocks that live at the same time, a block with itself included.
TEST(Packing, by_priority_goes_on_as_long_as_the_effort_lasts) {
  Random random(6);
  int better = 0;
  for (int round = 0; round < 100; ++round) {
    const auto blocks = random_blocks(random, 40, 30, 9);
    std::int64_t pairs = 0;
    for (std::size_t i = 0; i < blocks.size(); ++i)
      pairs += std::count_if(blocks.begin(), blocks.begin() + static_cast<std::ptrdiff_t>(i) + 1,
                             [&](const Block& other) { return other.meets(blocks[i]); });
    const Packing once = pack_by_priority(blocks, 0);
    EXPECT_EQ(pack_by_priority(blocks, 2 * pairs - 1).offsets, once.offsets) << round;
    const std::int64_t later = pack_by_priority(blocks, plenty).size;
    EXPECT_LE(later, once.size) << round;
    better += later < once.size ? 1 : 0;
  }
  EXPECT_GT(better, 10);
}

// Only what ends up above the bound moves ahead in the line: what reaches up to the bound has its place.
TEST(Packing, by_priority_comes_to_the_bound_where_large_blocks_follow_each_other) {
  const std::vector<std::vector<Block>> all = {
      {{9, 4, 6}, {9, 0, 2}, {6, 2, 3}, {8, 3, 4}},
      {{1, 0, 0}, {7, 7, 7}, {3, 1, 1}, {5, 2, 3}, {9, 0, 2}, {6, 3, 4}, {9, 4, 4}},
  };
  for (const std::vector<Block>& blocks : all) {
    EXPECT_EQ(least_size(blocks), packing_bound(blocks));
    EXPECT_EQ(pack_by_priority(blocks, plenty).size, packing_bound(blocks));
  }
}

TEST(Packing, bound_is_what_counting_gives) {
  Random random(1);
  for (int round = 0; round < 200; ++round) {
    const auto blocks = random_blocks(random, random.index(30), 20, 50);
    EXPECT_EQ(packing_bound(blocks), bound_by_counting(blocks, 20));
  }
}

TEST(Packing, keeps_blocks_apart_that_live_at_the_same_time) {
  Random random(2);
  for (int round = 0; round < 300; ++round) {
    const std::size_t times = random.pick({5U, 60U, 400U, 3000U});
    const auto blocks = random_blocks(random, random.index(120), times, random.pick({4, 1000}));
    const std::int64_t bound = packing_bound(blocks);
    for (const Packing& packing :
         {pack_in_time(blocks), pack_by_priority(blocks, plenty), pack_by_priority(blocks, 0)}) {
      EXPECT_EQ(mistake_in(packing, blocks), "") << round;
      EXPECT_GE(packing.size, bound);
    }
    EXPECT_LE(pack(blocks, plenty).size, pack_in_time(blocks).size);
  }
}

TEST(Packing, is_nearly_always_the_best_that_there_is) {
  Random random(3);
  int best = 0;
  constexpr int rounds = 150;
  for (int round = 0; round < rounds; ++round) {
    const auto blocks = random_blocks(random, 1 + random.index(7), 8, 9);
    const std::int64_t size = pack(blocks, plenty).size;
    const std::int64_t least = least_size(blocks);
    ASSERT_GE(size, least);
    EXPECT_LE(size, least + least / 5) << round;
    best += size == least ? 1 : 0;
  }
  EXPECT_GE(best, rounds * 97 / 100);
}

TEST(Packing, comes_within_a_few_percent_of_the_bound) {
  Random random(4);
  for (int round = 0; round < 5; ++round) {
    const auto blocks = random_blocks(random, 1500, 2000, 1000);
    const std::int64_t bound = packing_bound(blocks);
    EXPECT_LE(pack(blocks, plenty).size, bound + bound / 20) << round;
  }
}

TEST(Packing, stacks_blocks_that_begin_and_end_like_brackets) {
  // forward and backward: what is made first is needed last
  std::vector<Block> blocks;
  for (std::size_t i = 0; i < 500; ++i) blocks.push_back({static_cast<std::int64_t>(i * 7919 % 100 + 1), i, 999 - i});
  EXPECT_EQ(pack(blocks, plenty).size, packing_bound(blocks));
}

TEST(Packing, takes_no_blocks_and_huge_ones) {
  EXPECT_EQ(pack({}, plenty).size, 0);
  constexpr std::int64_t huge = std::int64_t{1} << 60;
  const std::vector<Block> blocks = {{huge, 0, 1}, {huge, 1, 2}, {huge - 1, 2, 3}};
  for (const Packing& packing : {pack_in_time(blocks), pack_by_priority(blocks, plenty)}) {
    EXPECT_EQ(mistake_in(packing, blocks), "");
    EXPECT_EQ(packing.size, 2 * huge);
  }
}

}  // namespace
}  // namespace hocket
