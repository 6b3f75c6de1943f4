// Ranks are stopped at random moments while all communicate. Shorter than the timeout it harms nobody; longer, the stopped rank is
// named with what it finished last, by all others where all wait for it, and they wait without burning processor time.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>

#include "compiled_step.h"
#include "launched.h"
#include "planned_call.h"

namespace hocket {
namespace {

using namespace std::chrono_literals;

constexpr int stops_of_a_run = 5;
constexpr auto timeout = 250ms;
constexpr double most_processor_time = 0.25;  // of the time that a rank waits

struct Board {
  std::atomic<std::int32_t> pid;  // of the rank that is stopped
  std::atomic<std::int32_t> stops;
  std::atomic<std::int32_t> calls;  // that the stopped rank has seen the end of
  std::atomic<std::int32_t> done;
  std::atomic<std::int32_t> named;  // ranks that were told of the stopped one
};

struct Scenario {
  std::uint64_t seed;
  std::int32_t ranks;
  std::int32_t victim;
  bool compiled;

  explicit Scenario(std::uint64_t its_seed) : seed(its_seed) {
    Random random(seed);
    ranks = static_cast<std::int32_t>(random.between(2, 4));
    victim = static_cast<std::int32_t>(random.between(0, ranks - 1));
    compiled = random.chance(40);
  }
  bool is_stopper(std::int32_t rank) const { return rank == (victim + 1) % ranks; }
};

double processor_seconds() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

// What all ranks do again and again: a call of the plan, or a compiled step.
class Repeated {
 public:
  Repeated(const Scenario& scenario, const CompiledStep& step, const World& world, std::chrono::milliseconds patience)
      : scenario_(scenario), group_(world.communicator().value()), patience_(patience) {
    if (scenario.compiled) runner_.emplace(step, world, ExecutorOptions{.timeout = patience});
  }

  // Empty where all is well.
  Status once(int number) {
    if (runner_) {
      HOCKET_CHECK(runner_->run(number));
      if (!runner_->is_right(number)) return fail(ErrorKind::internal, "wrong values");
      return {};
    }
    Random random(scenario_.seed * 1'000'003 + static_cast<std::uint64_t>(number));
    CallOptions options;
    options.timeout = patience_;
    const MadeCall call(random_call(random, scenario_.ranks), group_, options);
    HOCKET_CHECK(call.work.wait());
    if (!call.is_right()) return fail(ErrorKind::internal, "wrong result of {}", call.plan().to_string());
    return {};
  }

 private:
  const Scenario& scenario_;
  Communicator group_;
  std::chrono::milliseconds patience_;
  std::optional<StepRunner> runner_;
};

// Stops the victim for short times at random moments.
std::string go_on_through_stops(const Scenario& scenario, const CompiledStep& step, const SharedPage<Board>& board) {
  const World world = World::join().value();
  Repeated work(scenario, step, world, 20s);
  if (world.rank() == scenario.victim) board->pid = getpid();
  std::thread stopper([&] {
    if (!scenario.is_stopper(world.rank())) return;
    Random random(scenario.seed + 1);
    while (board->pid == 0) std::this_thread::sleep_for(1ms);
    while (board->stops < stops_of_a_run) {
      std::this_thread::sleep_for(std::chrono::microseconds(random.between(0, 8'000)));
      kill(board->pid, SIGSTOP);
      std::this_thread::sleep_for(std::chrono::microseconds(random.between(100, 40'000)));
      kill(board->pid, SIGCONT);
      ++board->stops;
    }
  });
  std::string wrong;
  std::int32_t go = 1;
  for (int number = 0; go == 1 && wrong.empty(); ++number) {
    if (const Status status = work.once(number); !status) wrong = status.error().to_string();
    // All end after the same number.
    go = world.rank() == 0 && board->stops >= stops_of_a_run ? 0 : 1;
    const Status agreed =
        world.communicator()->all_reduce(&go, &go, 1, Dtype::i32, ReduceOp::min, {.timeout = 20s}).wait();
    if (!agreed) wrong += agreed.error().to_string();
  }
  stopper.join();
  return wrong;
}

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

// The victim is stopped at a random moment and stays so until all others know.
std::string judge_timeout(const Scenario& scenario, const std::string& message, const SharedPage<Board>& board) {
  const bool names_it = has(message, fmt::format("rank {} (pid {}) is alive but did not come within {} ms",
                                                 scenario.victim, board->pid.load(), timeout.count()));
  if (names_it) ++board->named;
  // In a program of several groups a rank may wait for one that itself waits for the stopped rank, and come to its timeout first: it
  // can only name the one it waits for.
  if (!names_it && !(scenario.compiled && has(message, "is alive but did not come within")))
    return "it does not name the stopped rank: " + message;
  const std::size_t at = message.find("it last finished ");
  if (at == std::string::npos) return "it does not say what it finished last: " + message;
  if (scenario.compiled) return "";
  // "it last finished all_reduce(…) as call 12 at …", or nothing.
  const std::size_t call = message.find(" as call ", at);
  const int said = call == std::string::npos ? 0 : std::stoi(message.substr(call + 9));
  const int known = board->calls;
  // The victim counts a call once it has seen its end, a moment after it is recorded as finished.
  if (said != known && said != known + 1) return fmt::format("it finished {} calls, but: {}", known, message);
  return "";
}

std::string wait_for_stopped(const Scenario& scenario, const CompiledStep& step, const SharedPage<Board>& board) {
  const World world = World::join().value();
  Repeated work(scenario, step, world, timeout);
  if (const Status status = world.communicator()->barrier().wait(); !status) return status.error().message;
  const bool is_victim = world.rank() == scenario.victim;
  if (is_victim) {
    board->calls = 1;  // the barrier
    board->pid = getpid();
  }
  std::thread stopper([&] {
    if (!scenario.is_stopper(world.rank())) return;
    Random random(scenario.seed + 1);
    while (board->pid == 0) std::this_thread::sleep_for(1ms);
    std::this_thread::sleep_for(std::chrono::microseconds(random.between(0, 20'000)));
    kill(board->pid, SIGSTOP);
  });
  std::string wrong;
  for (int number = 0;; ++number) {
    const double processor = processor_seconds();
    const auto start = std::chrono::steady_clock::now();
    const Status status = work.once(number);
    if (status) {
      if (is_victim) ++board->calls;
      continue;
    }
    if (is_victim) break;  // it was let go on, and hears of the others' failure
    wrong = judge_timeout(scenario, status.error().message, board);
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
    const double used = (processor_seconds() - processor) / took.count();
    if (wrong.empty() && took > timeout / 2 && used > most_processor_time)
      wrong = fmt::format("it waited for {:.3f} s and was busy for {:.0f} % of it", took.count(), 100 * used);
    break;
  }
  stopper.join();
  if (!is_victim && ++board->done == scenario.ranks - 1) kill(board->pid, SIGCONT);
  return wrong;
}

void play(const Scenario& scenario, bool briefly) {
  const CompiledStep step(scenario.seed, scenario.ranks);
  const SharedPage<Board> board;
  const auto outcomes = run_launched(
      scenario.ranks,
      [&](int) {
        return briefly ? go_on_through_stops(scenario, step, board) : wait_for_stopped(scenario, step, board);
      },
      60s);
  EXPECT_GE(board->named, briefly ? 0 : 1) << "nobody was told of the stopped rank, seed " << scenario.seed;
  for (const RankOutcome& outcome : outcomes) {
    EXPECT_EQ(outcome.said, "") << "seed " << scenario.seed << (scenario.compiled ? ", compiled" : "");
    EXPECT_EQ(outcome.exit_code, 0);
    EXPECT_FALSE(outcome.timed_out);
  }
}

void play_many(std::uint64_t first_seed, int count, bool briefly) {
  for (int i = 0; i < count && !testing::Test::HasFailure(); ++i)
    play(Scenario(first_seed + static_cast<std::uint64_t>(i)), briefly);
}

TEST(Stops, of_ranks_for_less_than_the_timeout_change_no_result) { play_many(100, 6, true); }
TEST(Stops, of_ranks_for_longer_are_named_by_all_others_which_wait_idly) { play_many(200, 10, false); }
TEST(LongStops, two_hundred_times_for_less_than_the_timeout_change_no_result) {
  play_many(10'000, 200 / stops_of_a_run, true);
}
TEST(LongStops, a_hundred_times_for_longer_are_named_by_all_others_which_wait_idly) { play_many(20'000, 100, false); }

}  // namespace
}  // namespace hocket
