// Many more ranks than cores: all get on, and a call takes as much longer as there are more ranks to run.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <limits>

#include "hocket/base/median.h"
#include "launched.h"

namespace hocket {
namespace {

using namespace std::chrono_literals;

constexpr int elements = 1024;

// Sums, each checked. The median time of one in nanoseconds, or what was wrong.
std::string sum_up(int calls) {
  const Result<World> world = World::join();
  if (!world) return world.error().to_string();
  const Communicator all = world->communicator().value();
  const int ranks = world->size();
  std::vector<double> times;
  std::vector<float> data(elements);
  for (int call = 0; call < calls; ++call) {
    std::fill(data.begin(), data.end(), static_cast<float>(world->rank() + call));
    const auto start = std::chrono::steady_clock::now();
    const Status status =
        all.all_reduce(data.data(), data.data(), elements, Dtype::f32, ReduceOp::sum, {.blocking = true}).wait();
    if (!status) return status.error().to_string();
    times.push_back(std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now() - start).count());
    const auto expected = static_cast<float>(ranks * (ranks - 1) / 2 + ranks * call);
    if (std::any_of(data.begin(), data.end(), [&](float sum) { return sum != expected; })) return "a wrong sum";
  }
  return std::to_string(upper_median(times));
}

// The time of a sum on the slowest rank.
double time_with(int ranks, int calls) {
  double slowest = 0;
  for (const RankOutcome& outcome : run_launched(
           ranks, [&](int) { return sum_up(calls); }, 240s)) {
    EXPECT_EQ(outcome.exit_code, 0) << outcome.said << (outcome.timed_out ? ": it did not end" : "");
    const double time = std::atof(outcome.said.c_str());
    EXPECT_GT(time, 0) << outcome.said;
    slowest = std::max(slowest, time);
  }
  return slowest;
}

TEST(Load, sixty_four_ranks_on_the_cores_that_there_are_get_on) { EXPECT_GT(time_with(64, 20), 0); }

TEST(LoadAlone, LongATimeIsProportionalToTheRanksThatShareTheCores) {
  const auto cores = static_cast<int>(std::thread::hardware_concurrency());
  const int few = 4 * cores;
  const int many = 16 * cores;
  // In turns, the fastest of each, and for as long: what else runs on the machine comes and goes, and a moment without it is easily found
  // for a few calls of a few ranks.
  double with_few = std::numeric_limits<double>::max();
  double with_many = with_few;
  for (int round = 0; round < 4; ++round) {
    with_few = std::min(with_few, time_with(few, 100 * 16));
    with_many = std::min(with_many, time_with(many, 100));
  }
  // Each rank of a sum of one shot reads what all others have: with four times as many ranks each has four times as much to do, and
  // four times as many share a core.
  const double most = 4 * 4 * 2;
  EXPECT_LT(with_many / with_few, most) << with_few << " ns with " << few << " ranks, " << with_many << " ns with "
                                        << many;
}

}  // namespace
}  // namespace hocket
