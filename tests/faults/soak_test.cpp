// Many operations of all kinds on several groups: what a process uses must not grow.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "launched.h"
#include "planned_call.h"

namespace hocket {
namespace {

using namespace std::chrono_literals;

constexpr int ranks = 3;
constexpr int calls_of_a_pass = 4;
constexpr std::int64_t noise = std::int64_t{4}
                               << 20;  // bytes: arenas of malloc, stacks that are touched for the first time

struct Usage {
  std::int64_t memory = 0;  // resident bytes
  std::int64_t descriptors = 0;
  std::int64_t threads = 0;
  std::int64_t mappings = 0;
};

std::int64_t count_of(const char* folder) {
  const std::filesystem::directory_iterator entries(folder);
  return std::distance(begin(entries), end(entries));
}

Usage usage() {
  Usage now;
  std::ifstream pages("/proc/self/statm");
  std::int64_t all = 0;
  pages >> all >> now.memory;
  now.memory *= 4096;
  now.descriptors = count_of("/proc/self/fd");
  now.threads = count_of("/proc/self/task");
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) ++now.mappings;
  return now;
}

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
  if (last.memory > first.memory + noise) return fmt::format("{} bytes, {} before", last.memory, first.memory);
  if (last.descriptors > first.descriptors)
    return fmt::format("{} descriptors, {}", last.descriptors, first.descriptors);
  if (last.mappings > first.mappings + 8) return fmt::format("{} mappings, {} before", last.mappings, first.mappings);
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
