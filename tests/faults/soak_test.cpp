// Many operations of all kinds on several groups: what a process uses must not grow.
#include <gtest/gtest.h>

#include <algorithm>

#include "compiled_step.h"
#include "launched.h"
#include "planned_call.h"
#include "support/usage.h"

namespace hocket {
namespace {

using namespace std::chrono_literals;

constexpr int ranks = 3;
constexpr int calls_of_a_pass = 4;
// Some calls on each group, the same on all of its ranks.
std::string operate(const std::vector<Communicator>& groups, int pass) {
  std::vector<std::unique_ptr<MadeCall>> made;
  for (const Communicator& group : groups) {
    Random random(static_cast<std::uint64_t>(pass * 10 + group.group().ranks().back() * 3 + group.group().size()));
    for (int i = 0; i < calls_of_a_pass; ++i) {
      const std::int32_t size = group.group().size();
      PlannedCall plan = random.chance(25) ? random_message(random, size) : random_call(random, size);
      plan.count = std::min<std::int64_t>(plan.count, 500);
      if (random.chance(3)) plan = random_call_of(PlannedCall::Kind::allocate, random, size);
      made.push_back(std::make_unique<MadeCall>(plan, group));
    }
  }
  for (const auto& call : made) {
    if (const Status status = call->work.wait(); !status) return status.error().message;
    if (!call->is_right()) return "wrong result of " + call->plan().to_string();
  }
  return "";
}

std::string soak(int operations) {
  const World world = World::join().value();
  std::vector<Communicator> groups;
  for (const Ranks& members : {Ranks{0, 1, 2}, Ranks{0, 1}, Ranks{1, 2}}) {
    const bool member = std::find(members.begin(), members.end(), world.rank()) != members.end();
    if (member) groups.push_back(world.communicator(members).value());
  }
  Usage first;
  const int passes = operations / calls_of_a_pass / 2;  // every rank is in two groups or more
  for (int pass = 0; pass < passes; ++pass) {
    if (pass == passes / 4) first = usage();
    if (const std::string wrong = operate(groups, pass); !wrong.empty()) return wrong;
  }
  const Usage last = usage();
  first.threads = std::max(first.threads, last.threads);  // judged below
  if (const std::string grown = growth(first, last); !grown.empty()) return grown;
  // The main thread, and one each for the collectives and the messages of a group.
  const auto most_threads = static_cast<std::int64_t>(1 + 2 * groups.size());
  if (last.threads > most_threads) return fmt::format("{} threads for {} groups", last.threads, groups.size());
  return "well";
}

void expect_no_growth(int operations, std::chrono::seconds timeout) {
  for (const RankOutcome& outcome : run_launched(
           ranks, [&](int) { return soak(operations); }, timeout)) {
    EXPECT_EQ(outcome.said, "well");
    EXPECT_EQ(outcome.exit_code, 0);
  }
}

TEST(Soak, twenty_thousand_operations_do_not_make_a_process_grow) { expect_no_growth(20'000, 110s); }
TEST(Soak, Long_a_million_operations_do_not_make_a_process_grow) { expect_no_growth(1'000'000, 1700s); }

// What a process uses after a quarter of the runs is what it uses at the end, but for threads: they are made when calls of several
// groups are under way for the first time, one for each group at most.
std::string run_flat(int runs, const std::function<Status(int)>& once) {
  constexpr std::int64_t groups = 3;
  Usage first;
  for (int i = 0; i < runs; ++i) {
    if (i == runs / 4) first = usage();
    if (const Status status = once(i); !status) return status.error().to_string();
  }
  first.threads = 1 + groups;
  const std::string grown = growth(first, usage());
  return grown.empty() ? "well" : grown;
}

void expect_flat(int count, const std::function<std::string(const World&)>& body, std::chrono::seconds timeout) {
  const auto outcomes = run_launched(
      count, [&](int) { return body(World::join().value()); }, timeout);
  for (const RankOutcome& outcome : outcomes) EXPECT_EQ(outcome.said, "well");
}

void expect_flat_steps(int runs, std::chrono::seconds timeout) {
  for (const std::uint64_t seed : {31, 32}) {
    const CompiledStep step(seed, ranks);
    expect_flat(
        ranks,
        [&](const World& world) {
          StepRunner runner(step, world);
          return run_flat(runs / 2, [&](int number) -> Status {
            HOCKET_CHECK(runner.run(number));
            if (!runner.is_right(number)) return fail(ErrorKind::internal, "run {} gave wrong values", number);
            return {};
          });
        },
        timeout);
  }
}

// Each is compiled and takes memory anew, runs, and is gone.
void expect_flat_recompiles(int times, std::chrono::seconds timeout) {
  constexpr int different = 12;
  expect_flat(
      2,
      [&](const World& world) {
        return run_flat(times, [&](int number) -> Status {
          const CompiledStep step(static_cast<std::uint64_t>(number % different), 2);
          StepRunner runner(step, world);
          for (int run = 0; run < 2; ++run) {
            HOCKET_CHECK(runner.run(run));
            if (!runner.is_right(run)) return fail(ErrorKind::internal, "program {} gave wrong values", number);
          }
          return {};
        });
      },
      timeout);
}

TEST(Soak, compiled_steps_do_not_make_a_process_grow) { expect_flat_steps(1'000, 60s); }
TEST(Soak, Long_ten_thousand_compiled_steps_do_not_make_a_process_grow) { expect_flat_steps(10'000, 600s); }
TEST(Soak, recompiling_does_not_make_a_process_grow) { expect_flat_recompiles(100, 60s); }
TEST(Soak, Long_a_thousand_recompiles_do_not_make_a_process_grow) { expect_flat_recompiles(1'000, 600s); }

// A thread for each call of a burst would be as many as there are calls.
TEST(Soak, a_burst_of_calls_needs_few_threads) {
  const auto outcomes = run_launched(2, [](int) -> std::string {
    const World world = World::join().value();
    const Communicator all = world.communicator().value();
    std::vector<Work> works;
    for (int i = 0; i < 2'000; ++i) works.push_back(all.barrier());
    const std::int64_t threads = usage().threads;
    for (const Work& work : works) {
      if (!work.wait()) return "a barrier failed";
    }
    return threads <= 4 ? "few" : fmt::format("{} threads", threads);
  });
  for (const RankOutcome& outcome : outcomes) EXPECT_EQ(outcome.said, "few");
}

}  // namespace
}  // namespace hocket
