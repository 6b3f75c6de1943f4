#include "fuse/two_lanes.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>

#include "support/random.h"

namespace hocket::fuse {
namespace {

Nanoseconds time(std::int64_t number) { return Nanoseconds::from_picoseconds(number); }

struct Plain {
  std::size_t lane;
  std::int64_t time;
  Slot start;
  Slot wait;
};

// When the lanes are done: the compute lane, then those of the collectives.
using Ends = std::array<std::int64_t, 3>;

// Slot by slot, without events.
Ends plain_ends(const std::vector<std::int64_t>& compute, const std::vector<Plain>& collectives) {
  std::int64_t now = 0;
  std::vector<std::int64_t> free_at(2, 0);
  std::vector<std::int64_t> done(collectives.size(), 0);
  for (Slot slot = 0; slot < 2 * compute.size(); ++slot) {
    for (std::size_t i = 0; i < collectives.size(); ++i) {
      if (collectives[i].wait == slot) now = std::max(now, done[i]);
    }
    for (std::size_t i = 0; i < collectives.size(); ++i) {
      if (collectives[i].start != slot) continue;
      std::int64_t& lane = free_at[collectives[i].lane];
      lane = done[i] = std::max(lane, now) + collectives[i].time;
    }
    if (slot % 2 == 0) now += compute[slot / 2];
  }
  return {now, free_at[0], free_at[1]};
}

std::int64_t last_of(const Ends& ends) { return *std::max_element(ends.begin(), ends.end()); }

// No lane has anything left to do for longer than before.
bool no_later(const Ends& merged, const Ends& apart) {
  if (merged[0] > apart[0]) return false;
  for (const std::size_t lane : {1, 2}) {
    if (std::max(merged[lane], merged[0]) > std::max(apart[lane], apart[0])) return false;
  }
  return true;
}

TEST(TwoLanes, merges_as_a_plain_simulation_does) {
  std::array<int, 2> answers = {0, 0};
  for (std::uint64_t seed = 0; seed < 500; ++seed) {
    Random random(seed);
    std::vector<std::int64_t> compute;
    std::vector<Nanoseconds> times;
    for (int i = 0; i < 20; ++i) {
      compute.push_back(random.between(0, 10));
      times.push_back(time(compute.back()));
    }
    TwoLanes lanes(times);
    std::vector<Plain> plain;
    for (std::size_t i = 0; i < 5; ++i) {
      const auto start = static_cast<std::uint32_t>(random.between(0, 10));
      const auto wait = static_cast<std::uint32_t>(random.between(start + 1, 19));
      plain.push_back({i % 2, random.between(1, 30), ahead_of(start), ahead_of(wait)});
      lanes.add({plain[i].lane, time(plain[i].time), plain[i].start, plain[i].wait, plain[i].start});
    }
    const Ends apart = plain_ends(compute, plain);
    ASSERT_EQ(lanes.step_time(), time(last_of(apart))) << "seed " << seed;

    // 0 and 2 share a lane. The plain model has one collective with both waits: 2 starts with 0 and takes nothing more.
    const Slot start = std::max(plain[0].start, plain[2].start);
    if (start >= std::min(plain[0].wait, plain[2].wait)) continue;
    TwoLanes::Merge merge;
    merge.first = 0;
    merge.other = 2;
    merge.start = start;
    merge.time = time(plain[0].time + plain[2].time - random.between(0, 10));
    plain[0].time = merge.time.picoseconds;
    plain[0].start = plain[2].start = start;
    plain[2].time = 0;
    const Ends merged = plain_ends(compute, plain);
    EXPECT_EQ(lanes.is_no_later(lanes.initial(), merge), no_later(merged, apart)) << "seed " << seed;
    EXPECT_EQ(lanes.step_time(), time(last_of(apart))) << "seed " << seed << ": asking changes nothing";
    ++answers[no_later(merged, apart) ? 1 : 0];
    lanes.apply(merge);
    EXPECT_EQ(lanes.step_time(), time(last_of(merged))) << "seed " << seed;
  }
  EXPECT_GT(answers[0], 20);
  EXPECT_GT(answers[1], 20);
}

// compute 5 | start, wait of 3 | compute 4 | start, wait of 3 | compute 1
TEST(TwoLanes, counts_copies_and_light_nodes_that_move) {
  const std::vector<Nanoseconds> compute = {time(5), time(0), time(0), time(4), time(0), time(0), time(1)};
  TwoLanes lanes(compute);
  lanes.add({0, time(3), ahead_of(1), ahead_of(2), ahead_of(1)});
  lanes.add({0, time(3), ahead_of(4), ahead_of(5), ahead_of(4)});
  EXPECT_EQ(lanes.step_time(), time(5 + 3 + 4 + 3 + 1));
  TwoLanes::Merge merge;
  merge.first = 0;
  merge.other = 1;
  merge.start = ahead_of(1);
  merge.time = time(4);
  merge.before_start = time(2 + 1);  // of the 4 in the middle 2 move to the front; a copy takes 1
  merge.light = {{1, time(2)}};
  merge.copies_out = {{0, time(10)}, {1, time(20)}};
  EXPECT_FALSE(lanes.is_no_later(lanes.initial(), merge));
  lanes.apply(merge);
  EXPECT_EQ(lanes.step_time(), time(5 + 3 + 4 + 10 + 2 + 20 + 1));
}

}  // namespace
}  // namespace hocket::fuse
