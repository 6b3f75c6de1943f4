// Ranks die at random moments while all run a compiled step again and again. Every survivor's run fails with an error that names the
// dead rank, its pid and the signal; nobody hangs, and the survivors can form a new group.
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>

#include "base/sanitizers.h"
#include "compiled_step.h"
#include "launched.h"

namespace hocket {
namespace {

using namespace std::chrono_literals;

// ms: 99 of 100. What a process with AddressSanitizer has mapped takes the kernel longer to take down, as in kills_test.cpp.
constexpr double soon = under_address_sanitizer ? 500 : 100;
constexpr double at_most = 1'000;  // ms: all

struct Board {
  std::atomic<std::int64_t> death;  // ns
  std::atomic<std::int32_t> pid;    // of the victim
  std::atomic<std::int64_t> late;   // ns: how busy the machine is
};

struct Scenario {
  std::uint64_t seed;
  std::int32_t ranks;
  std::int32_t victim;
  std::chrono::microseconds delay;

  explicit Scenario(std::uint64_t its_seed) : seed(its_seed) {
    Random random(seed);
    ranks = random.pick<std::int32_t>({2, 4, 8});
    victim = static_cast<std::int32_t>(random.between(0, ranks - 1));
    delay = std::chrono::microseconds(random.between(0, 30'000));
  }
};

[[noreturn]] void be_killed(const Scenario& scenario, StepRunner& runner, const SharedPage<Board>& board) {
  board->pid = getpid();
  std::thread([&] {
    std::this_thread::sleep_for(scenario.delay);
    board->death = now_ns();
    kill(getpid(), SIGKILL);
  }).detach();
  for (int number = 0;; ++number) static_cast<void>(runner.run(number));
}

std::string go_on(const Scenario& scenario, const World& world) {
  std::vector<std::int32_t> survivors;
  for (std::int32_t rank = 0; rank < scenario.ranks; ++rank) {
    if (rank != scenario.victim) survivors.push_back(rank);
  }
  const Result<Communicator> group = world.communicator(survivors);
  if (!group) return "no new group: " + group.error().message;
  std::int32_t sum = 1;
  if (const Status status = group->all_reduce(&sum, &sum, 1, Dtype::i32, ReduceOp::sum).wait(); !status)
    return "the new group failed: " + status.error().message;
  return sum == scenario.ranks - 1 ? "" : "the new group's sum is wrong";
}

// "2.31 ms" that the news took, or what was wrong.
std::string survive(const Scenario& scenario, StepRunner& runner, const World& world, const SharedPage<Board>& board) {
  const Metronome metronome(board->late);
  for (int number = 0;; ++number) {
    const Status status = runner.run(number);
    const std::int64_t now = now_ns();
    if (status) {
      if (!runner.is_right(number)) return fmt::format("run {} gave wrong values", number);
      continue;
    }
    const std::string expected =
        fmt::format("rank {} (pid {}) was killed by signal 9 (Killed)", scenario.victim, board->pid.load());
    const std::string& message = status.error().message;
    if (status.error().kind != ErrorKind::peer || message.find(expected) == std::string::npos)
      return "the error does not name the death: " + status.error().to_string();
    if (const std::string wrong = go_on(scenario, world); !wrong.empty()) return wrong;
    return fmt::format("{} ms", static_cast<double>(now - board->death) / 1e6);
  }
}

// Adds the milliseconds that it took until each survivor knew, less what the machine itself is late.
void play(const Scenario& scenario, std::vector<double>& times) {
  const CompiledStep step(scenario.seed, scenario.ranks);
  const SharedPage<Board> board;
  const auto outcomes = run_launched(
      scenario.ranks,
      [&](int rank) -> std::string {
        const Result<World> world = World::join({10s, 20s});
        if (!world) return world.error().message;
        StepRunner runner(step, *world);
        // So that nobody is dead before all have their memory: deaths while ranks join are another test.
        if (const Status status = world->communicator()->barrier().wait(); !status) return status.error().message;
        if (rank == scenario.victim) be_killed(scenario, runner, board);
        return survive(scenario, runner, *world, board);
      },
      30s);
  for (std::int32_t rank = 0; rank < scenario.ranks; ++rank) {
    const RankOutcome& outcome = outcomes[static_cast<std::size_t>(rank)];
    if (rank == scenario.victim) {
      EXPECT_EQ(outcome.signal, SIGKILL);
      continue;
    }
    EXPECT_FALSE(outcome.timed_out) << "it hangs";
    EXPECT_TRUE(outcome.said.ends_with(" ms"))
        << fmt::format("seed {}, {}, rank {} of {}, rank {} dies: {}", scenario.seed, step.passes(), rank,
                       scenario.ranks, scenario.victim, outcome.said);
    times.push_back(std::max(std::atof(outcome.said.c_str()) - 2e-6 * static_cast<double>(board->late), 0.0));
  }
}

void play_many(std::uint64_t first_seed, int count) {
  std::vector<double> times;
  for (int i = 0; i < count && !testing::Test::HasFailure(); ++i)
    play(Scenario(first_seed + static_cast<std::uint64_t>(i)), times);
  ASSERT_FALSE(times.empty());
  std::sort(times.begin(), times.end());
  const double almost_all = times[times.size() * 99 / 100];
  EXPECT_LE(almost_all, soon);
  EXPECT_LE(times.back(), at_most);
  fmt::print("{} deaths, {} survivors, ms until they knew: median {:.1f}, 99 % {:.1f}, longest {:.1f}\n", count,
             times.size(), times[times.size() / 2], almost_all, times.back());
}

TEST(CompiledKills, forty_deaths_in_compiled_steps_are_named_in_time_and_survivors_go_on) { play_many(2'000, 40); }
TEST(CompiledKills, Long_a_thousand_deaths_in_compiled_steps_are_named_in_time_and_survivors_go_on) {
  play_many(200'000, 1'000);
}

}  // namespace
}  // namespace hocket
