#include "hocket/run/step_times.h"

#include <gtest/gtest.h>

#include <thread>

#include "hocket/cost/local_ranks.h"
#include "support/lowered_program.h"

namespace hocket {
namespace {

constexpr const char* two_of_a_kind = R"(graph @g(%x: f32[64]) {
  group @both = ranks[0,1]
  %a = aten.neg(%x)
  %b = _c10d_functional.all_reduce(%a, "sum", @both)
  %c = aten.neg(%x)
  %d = aten.relu(%c)
  %e = _c10d_functional.wait_tensor(%b)
  return %d, %e
})";

// Steps that take so many µs, one after the other.
RunRecord run_of(const Program& program, const std::map<std::string, int>& micros) {
  RunRecord run;
  for (std::size_t i = 0; i < program.size(); ++i) {
    const auto found = micros.find(std::string(program.name(StepId(i))));
    const Nanoseconds time = Nanoseconds::from_ns(1e3 * (found == micros.end() ? 77 : found->second));
    run.steps.push_back({run.total, run.total + time, run.total + time});
    run.total = run.total + time;
  }
  return run;
}

TEST(StepTimes, steps_with_the_same_call_take_together_what_they_took_and_a_slow_run_does_not_count) {
  const Program program = program_of(two_of_a_kind);
  StepTimes times(program);
  times.add(run_of(program, {{"a", 10}, {"c", 30}, {"d", 5}}));
  times.add(run_of(program, {{"a", 900}, {"c", 32}, {"d", 900}}));
  times.add(run_of(program, {{"a", 12}, {"c", 900}, {"d", 4}}));
  const Result<Profile> profile = times.profile();
  ASSERT_TRUE(profile) << profile.error().to_string();
  EXPECT_EQ(profile->size(), 2U) << profile->to_json();
  EXPECT_EQ(profile->by_call("aten.neg.default(f32[64])"), Nanoseconds::from_ns(22'000));  // of 12 and 32
  EXPECT_EQ(profile->by_call("aten.relu.default(f32[64])"), Nanoseconds::from_ns(5'000));
}

TEST(StepTimes, ranks_take_the_times_of_the_one_that_they_wait_for) {
  const Program program = program_of(two_of_a_kind);
  std::vector<std::string> profiles(3);
  std::vector<Nanoseconds> totals(3);
  LocalRanks ranks(3);
  std::vector<std::thread> threads;
  for (int rank = 0; rank < 3; ++rank) {
    threads.emplace_back([&, rank] {
      StepTimes times(program);
      times.add(run_of(program, {{"a", 10}, {"c", rank == 1 ? 70 : 20}, {"d", 40 - rank}}));
      Profile known;
      known.set_name("other", Nanoseconds::from_ns(5));
      profiles[static_cast<std::size_t>(rank)] = times.profile(ranks.rank(rank), known)->to_json();
      totals[static_cast<std::size_t>(rank)] = times.total(ranks.rank(rank)).value();
    });
  }
  for (std::thread& thread : threads) thread.join();
  StepTimes slowest(program);
  const RunRecord slowest_run = run_of(program, {{"a", 10}, {"c", 70}, {"d", 39}});
  slowest.add(slowest_run);
  Profile expected = slowest.profile().value();
  expected.set_name("other", Nanoseconds::from_ns(5));
  for (const std::string& profile : profiles) EXPECT_EQ(profile, expected.to_json());
  for (const Nanoseconds total : totals) EXPECT_EQ(total, slowest_run.total);
}

TEST(StepTimes, knows_nothing_before_the_first_run) {
  const Program program = program_of(two_of_a_kind);
  EXPECT_EQ(StepTimes(program).profile()->size(), 0U);
}

}  // namespace
}  // namespace hocket
