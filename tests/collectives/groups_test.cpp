// Groups: thousands of them cost little, and those of a mesh communicate side by side.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <thread>

#include "ranks.h"
#include "support/usage.h"

namespace hocket {
namespace {

using namespace std::chrono_literals;

std::int64_t resident() { return usage().memory; }

// A different set for each number, and ranks 0 and 1 are in all of them.
Ranks members_of(std::uint32_t number) {
  Ranks ranks = {0, 1};
  for (std::int32_t bit = 0; number >> bit != 0; ++bit) {
    if ((number >> bit & 1U) != 0) ranks.push_back(2 + bit);
  }
  return ranks;
}

TEST(Groups, asked_for_again_are_the_same_and_cost_nothing) {
  expect_well(Kind::processes, 2, [](World& world, Complaints& complaints) {
    const Communicator first = group_of(world, {0, 1});
    const std::int64_t before = resident();
    for (int i = 0; i < 10'000; ++i) {
      const Communicator again = i % 2 == 0 ? group_of(world) : group_of(world, {1, 0});
      if (&again.group() != &first.group()) complaints.add("another group");
    }
    const std::int64_t more = resident() - before;  // of this rank alone if it is a process
    // AddressSanitizer keeps what was freed for a while.
    if (ranks_may_be_processes && !under_address_sanitizer && more > 2 << 20) complaints.add("takes {} bytes", more);
    complaints.well(first.barrier(), "barrier");
  });
}

// Groups of so many ranks as threads. What each costs, and that nothing else than memory grows with their number.
void expect_many(std::uint32_t groups, std::int32_t ranks_in_all, std::chrono::seconds patience) {
  const std::int64_t before = resident();
  std::atomic<std::int64_t> most = 0;
  const auto start = std::chrono::steady_clock::now();
  std::atomic<std::int64_t> descriptors = 0;
  expect_well(Kind::threads, ranks_in_all, [&](World& world, Complaints& complaints) {
    const Usage at_first = usage();
    for (std::uint32_t i = 0; i < groups; ++i) {
      const Ranks ranks = members_of(i);
      if (std::find(ranks.begin(), ranks.end(), world.rank()) == ranks.end()) continue;
      const Communicator group = group_of(world, ranks);
      std::int32_t one = 1;
      if (i % 97 != 0) continue;
      complaints.well(group.all_reduce(&one, &one, 1, Dtype::i32, ReduceOp::sum, blocking()), "all_reduce");
      if (one != static_cast<std::int32_t>(ranks.size())) complaints.add("group {} has the sum {}", i, one);
    }
    complaints.well(group_of(world).barrier(blocking()), "barrier");
    if (world.rank() == 0) {
      most = resident();
      // Ranks that wait open files in /proc now and then; what is left open stays.
      std::int64_t least = usage().descriptors;
      for (int i = 0; i < 100 && least > at_first.descriptors; ++i) least = std::min(least, usage().descriptors);
      descriptors = least - at_first.descriptors;
    }
    complaints.well(group_of(world).barrier(blocking()), "barrier");
  });
  const auto time = std::chrono::steady_clock::now() - start;
  EXPECT_LT(time, patience);
  EXPECT_LE(descriptors, 0);
  std::int64_t places = 0;
  for (std::uint32_t i = 0; i < groups; ++i) places += static_cast<std::int64_t>(members_of(i).size());
  EXPECT_LT((most - before) / places, 64 << 10) << "bytes for each group and rank";
}

TEST(Groups, thousands_of_different_ones_come_about_quickly_and_work) { expect_many(1'000, 12, 20s); }
TEST(LongGroups, ten_thousand_different_ones_come_about_quickly_and_work) { expect_many(10'000, 16, 400s); }

TEST(Groups, of_a_mesh_communicate_side_by_side) {
  for (const Kind kind : both_kinds) {
    expect_well(kind, 4, [](World& world, Complaints& complaints) {
      const Result<Mesh> mesh = world.mesh({{"dp", 2}, {"tp", 2}});
      if (!complaints.well(mesh, "mesh")) return;
      std::int32_t tp = world.rank();
      std::int32_t dp = world.rank();
      const Work first = group_of(world, (*mesh)["tp"]).all_reduce(&tp, &tp, 1, Dtype::i32, ReduceOp::sum);
      const Work second = group_of(world, (*mesh)["dp"]).all_reduce(&dp, &dp, 1, Dtype::i32, ReduceOp::sum);
      complaints.well(second, "dp");
      complaints.well(first, "tp");
      const std::int32_t row = world.rank() / 2 * 4 + 1;
      const std::int32_t column = world.rank() % 2 * 2 + 2;
      if (tp != row || dp != column) complaints.add("got {} and {}, expected {} and {}", tp, dp, row, column);
    });
  }
}

TEST(Groups, can_be_formed_by_several_threads_at_once_and_in_any_order) {
  expect_well(Kind::threads, 3, [](World& world, Complaints& complaints) {
    const std::vector<Ranks> groups = {{0, 1}, {0, 1, 2}};
    std::atomic<int> formed = 0;
    const auto form = [&](std::size_t which) {
      if (world.communicator(groups[which])) ++formed;
    };
    if (world.rank() == 2) {
      std::this_thread::sleep_for(60ms);
      form(1);
      if (formed != 1) complaints.add("did not form the group");
      return;
    }
    // Ranks 0 and 1 begin with different groups, and another thread comes with the other one.
    std::thread first(form, static_cast<std::size_t>(world.rank()));
    std::this_thread::sleep_for(20ms);
    std::thread second(form, static_cast<std::size_t>(1 - world.rank()));
    first.join();
    second.join();
    if (formed != 2) complaints.add("formed {} groups of 2", formed.load());
  });
}

// Rank 0 asks for the group {0, 1} before rank 1 does, and again when all have seen that it failed.
Result<float> sum_of_a_group_asked_for_twice(const World& world) {
  HOCKET_TRY(const Communicator all, world.communicator("world"));
  const CallOptions patient = within(60s);
  if (world.rank() == 0) {
    const auto early = world.communicator(Ranks{0, 1});
    if (early) return fail(ErrorKind::internal, "formed a group that rank 1 had not come to");
    if (!early.error().message.ends_with("asking for the group's communicator again waits for it once more")) {
      return fail(early.error());
    }
  }
  HOCKET_CHECK(all.barrier(patient).wait());
  float one = 1;
  if (world.rank() < 2) {
    HOCKET_TRY(const Communicator group, world.communicator(Ranks{0, 1}));
    HOCKET_CHECK(group.all_reduce(&one, &one, 1, Dtype::f32, ReduceOp::sum, patient).wait());
  }
  HOCKET_CHECK(all.barrier(patient).wait());  // nobody leaves before all are done
  return one;
}

TEST(Groups, that_a_rank_came_too_late_for_are_formed_by_asking_again) {
  WorldOptions options;
  options.timeout = 2s;  // also for the forming of the world's group, which nobody is late for
  for (const Kind kind : both_kinds) {
    const auto said = run_world(
        kind, 3,
        [](World& world) {
          const Result<float> sum = sum_of_a_group_asked_for_twice(world);
          return sum ? fmt::format("{}", *sum) : sum.error().message;
        },
        options);
    EXPECT_EQ(said, (std::vector<std::string>{"2", "2", "1"})) << name_of(kind);
  }
}

TEST(Groups, of_one_rank_need_nobody_else) {
  expect_well(Kind::threads, 2, [](World& world, Complaints& complaints) {
    const Communicator alone = group_of(world, Ranks{world.rank()});
    std::vector<float> data = {1, 2, 3};
    complaints.well(alone.all_reduce(data.data(), data.data(), 3, Dtype::f32, ReduceOp::avg), "all_reduce");
    complaints.well(alone.barrier(blocking()), "barrier");
    if (data != std::vector<float>{1, 2, 3}) complaints.add("changed");
  });
}

}  // namespace
}  // namespace hocket
