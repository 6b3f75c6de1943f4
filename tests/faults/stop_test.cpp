// A rank that is alive but does nothing, because it was stopped.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include "launched.h"

namespace hocket {
namespace {

using namespace std::chrono_literals;
using testing::ContainsRegex;
using testing::HasSubstr;

struct Board {
  std::atomic<std::int32_t> pid;  // of the rank that is stopped
  std::atomic<std::int32_t> done;
};

constexpr int ranks = 3;
constexpr int stopped = 2;

CallOptions patient(std::chrono::milliseconds time) { return {.timeout = time}; }

// What a rank's call says that waits for the stopped one. The last to be done lets it go on.
std::string wait_in_vain(const Board& board, const std::function<Work()>& call, std::atomic<std::int32_t>& done) {
  while (board.pid == 0) std::this_thread::sleep_for(1ms);
  std::this_thread::sleep_for(20ms);  // it stops right after it has said so
  const auto start = std::chrono::steady_clock::now();
  const Status status = call().wait();
  const auto took = std::chrono::steady_clock::now() - start;
  if (++done == ranks - 1) kill(board.pid, SIGCONT);
  return fmt::format("{}{}", status ? "no error" : status.error().message, took < 5s ? "" : ", late");
}

void stop_yourself(Board& board) {
  board.pid = getpid();
  kill(getpid(), SIGSTOP);
}

TEST(Stop, a_stopped_rank_is_named_at_the_timeout_with_what_it_last_finished_and_can_exit_well_afterwards) {
  const SharedPage<Board> board;
  const auto outcomes = run_launched(ranks, [&](int rank) -> std::string {
    const World world = World::join().value();
    const Communicator all = world.communicator().value();
    float sum = 0;
    const float one = 1;
    if (!all.all_reduce(&one, &sum, 1, Dtype::f32, ReduceOp::sum).wait()) return "the first call failed";
    if (rank != stopped) {
      return wait_in_vain(
          *board, [&] { return all.barrier(patient(200ms)); }, board->done);
    }
    stop_yourself(*board);
    const Status status = all.barrier().wait();
    return status ? "went on alone" : status.error().message;
  });
  for (const RankOutcome& outcome : outcomes) EXPECT_EQ(outcome.exit_code, 0);
  for (const int rank : {0, 1}) {
    EXPECT_THAT(
        outcomes[static_cast<std::size_t>(rank)].said,
        ContainsRegex("rank 2 \\(pid [0-9]+\\) is alive but did not come within 200 ms to barrier\\(\\) as call 2 at "
                      "stop_test.cpp:[0-9]+, which rank [01] waits for: it last finished all_reduce\\(f32\\[1\\], "
                      "sum\\) as call 1 at stop_test.cpp:[0-9]+$"));
  }
  // The others have come to the barrier before they gave up; whether it sees their flags or their failure first is open.
  EXPECT_THAT(outcomes[stopped].said,
              testing::AnyOf("went on alone", HasSubstr("is alive but did not come within 200 ms")));
}

TEST(Stop, a_receive_from_a_stopped_rank_is_over_at_its_timeout) {
  const SharedPage<Board> board;
  const auto outcomes = run_launched(ranks, [&](int rank) -> std::string {
    const World world = World::join().value();
    const Communicator all = world.communicator().value();
    std::int32_t number = 7;
    if (rank != stopped) {
      return wait_in_vain(
          *board, [&] { return all.irecv(&number, 1, Dtype::i32, stopped, 0, patient(200ms)); }, board->done);
    }
    stop_yourself(*board);
    return "goes on";
  });
  for (const RankOutcome& outcome : outcomes) EXPECT_EQ(outcome.exit_code, 0);
  for (const int rank : {0, 1}) {
    EXPECT_THAT(outcomes[static_cast<std::size_t>(rank)].said,
                ContainsRegex("^rank 2 \\(pid [0-9]+\\) is alive but did not come within 200 ms to "
                              "receive\\(i32\\[1\\], from 2, tag 0\\)"));
  }
}

TEST(Stop, a_rank_that_is_stopped_for_less_than_the_timeout_harms_nobody) {
  const SharedPage<Board> board;
  const auto outcomes = run_launched(ranks, [&](int rank) -> std::string {
    const World world = World::join().value();
    const Communicator all = world.communicator().value();
    if (rank == stopped) stop_yourself(*board);
    std::thread after_a_while([&] {
      if (rank != 0) return;
      while (board->pid == 0) std::this_thread::sleep_for(1ms);
      std::this_thread::sleep_for(150ms);
      kill(board->pid, SIGCONT);
    });
    const Status status = all.barrier(patient(20s)).wait();
    after_a_while.join();
    return status ? "well" : status.error().message;
  });
  for (const RankOutcome& outcome : outcomes) EXPECT_EQ(outcome.said, "well");
}

}  // namespace
}  // namespace hocket
