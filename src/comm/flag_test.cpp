#include "comm/flag.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <thread>

#include "comm/symmetric_memory.h"
#include "support/processes.h"

namespace hocket {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;
using testing::StartsWith;

Deadline in(std::chrono::milliseconds time) { return std::chrono::steady_clock::now() + time; }

constexpr WaitPolicy sleep_at_once{0ns, 0ns};

// What a rank needs to wait: symmetric memory with a flag in it, and somebody who watches the others.
struct Ready {
  SymmetricMemory memory;
  PeerWatch watch;
  std::int64_t offset;
  Flag& flag_of(std::int32_t rank) const { return *reinterpret_cast<Flag*>(memory.at(rank, offset)); }
};

std::vector<RankOutcome> with_flags(int count, const std::function<Result<std::string>(Ready&)>& body) {
  const MeetingPlace place = MeetingPlace::random().value();
  return run_ranks(count, [&](int rank) {
    const auto said = [&]() -> Result<std::string> {
      HOCKET_TRY(HostLink link, HostLink::meet(place, rank, count, in(5s)));
      HOCKET_TRY(PeerWatch watch, PeerWatch::create(link, in(5s)));
      HOCKET_TRY(SymmetricMemory memory, SymmetricMemory::create(std::move(link)));
      HOCKET_TRY(const std::int64_t offset, memory.allocate(Bytes(sizeof(Flag)), in(5s)));
      Ready ready{std::move(memory), std::move(watch), offset};
      return body(ready);
    }();
    return said ? *said : said.error().message;
  });
}

// Each rank counts, and waits for its neighbour to come as far.
Result<std::string> go_round(Ready& ready, WaitPolicy policy, std::uint32_t first, int rounds) {
  const std::int32_t me = ready.memory.rank();
  const std::int32_t next = (me + 1) % ready.memory.size();
  for (int round = 0; round < rounds; ++round) {
    const auto number = first + static_cast<std::uint32_t>(round);
    raise(ready.flag_of(me), number);
    HOCKET_CHECK(wait_for(ready.flag_of(next), number, {ready.watch, next, policy, in(5s)}));
  }
  return "done";
}

TEST(Flag, every_way_to_wait_comes_to_an_end) {
  for (const WaitPolicy policy : {sleep_at_once, WaitPolicy{0ns, 1ms}, WaitPolicy{1ms, 0ns}, WaitPolicy{50us, 50us}}) {
    const auto ranks = with_flags(2, [&](Ready& ready) { return go_round(ready, policy, 1, 300); });
    for (const RankOutcome& rank : ranks) EXPECT_EQ(rank.said, "done");
  }
}

TEST(Flag, more_ranks_than_cores_get_on) {
  const auto ranks = with_flags(
      6, [](Ready& ready) { return go_round(ready, WaitPolicy::for_ranks(ready.memory.size(), 2), 1, 100); });
  for (const RankOutcome& rank : ranks) EXPECT_EQ(rank.said, "done");
}

TEST(Flag, what_was_written_before_it_was_raised_is_seen_after_the_wait) {
  // In one process, so that a thread sanitizer sees both sides.
  HostLink link = HostLink::meet(MeetingPlace::random().value(), 0, 1, in(1s)).value();
  const PeerWatch watch = PeerWatch::create(link, in(1s)).value();
  for (const WaitPolicy policy : {sleep_at_once, WaitPolicy{20us, 20us}}) {
    Flag ping{};
    Flag pong{};
    std::int64_t data = 0;
    std::thread other([&] {
      for (std::uint32_t i = 1; i <= 500; ++i) {
        if (!wait_for(ping, i, {watch, 0, policy, in(5s)})) return;
        data *= 2;
        raise(pong, i);
      }
    });
    for (std::uint32_t i = 1; i <= 500; ++i) {
      data = i;
      raise(ping, i);
      ASSERT_TRUE(wait_for(pong, i, {watch, 0, policy, in(5s)}));
      ASSERT_EQ(data, 2 * i);
    }
    other.join();
  }
}

TEST(Flag, the_number_may_wrap_around) {
  const auto ranks = with_flags(2, [](Ready& ready) -> Result<std::string> {
    // From 0 to 2^32 - 50 in two steps that are each less than 2^31.
    HOCKET_TRY(auto half, go_round(ready, sleep_at_once, 0x7fff'ff00U, 1));
    return go_round(ready, sleep_at_once, 0xffff'ff00U - 50U, 400);
  });
  for (const RankOutcome& rank : ranks) EXPECT_EQ(rank.said, "done");
}

TEST(Flag, a_rank_that_was_killed_is_named_with_its_signal) {
  const auto ranks = with_flags(3, [](Ready& ready) -> Result<std::string> {
    if (ready.memory.rank() == 2) {
      std::this_thread::sleep_for(30ms);
      ::raise(SIGKILL);
    }
    const auto start = std::chrono::steady_clock::now();
    const Status waited = wait_for(ready.flag_of(2), 1, {ready.watch, 2, WaitPolicy{50us, 50us}, in(5s)});
    const bool quick = std::chrono::steady_clock::now() - start < 1s;
    return fmt::format("{}{}", waited ? "no error" : waited.error().message, quick ? "" : ", late");
  });
  for (const int rank : {0, 1}) {
    EXPECT_THAT(ranks[rank].said, StartsWith("rank 2 (pid "));
    EXPECT_THAT(ranks[rank].said, HasSubstr(") was killed by signal 9 (Killed)"));
    EXPECT_THAT(ranks[rank].said, testing::Not(HasSubstr("late")));
  }
}

TEST(Flag, a_rank_that_ended_after_raising_it_did_its_part) {
  const auto ranks = with_flags(2, [](Ready& ready) -> Result<std::string> {
    if (ready.memory.rank() == 1) {
      raise(ready.flag_of(1), 1);
      _exit(5);
    }
    std::this_thread::sleep_for(50ms);
    const Waiting waiting{ready.watch, 1, sleep_at_once, in(5s)};
    HOCKET_CHECK(wait_for(ready.flag_of(1), 1, waiting));
    const Status more = wait_for(ready.flag_of(1), 2, waiting);
    return more ? "no error" : more.error().message;
  });
  EXPECT_THAT(ranks[0].said, HasSubstr(") exited with code 5"));
}

TEST(Flag, a_rank_that_is_stuck_is_named_at_the_deadline) {
  const auto ranks = with_flags(2, [](Ready& ready) -> Result<std::string> {
    if (ready.memory.rank() == 1) {
      raise(ready.flag_of(1), 3);
      std::this_thread::sleep_for(300ms);
      return "slow";
    }
    const Status waited = wait_for(ready.flag_of(1), 4, {ready.watch, 1, WaitPolicy{50us, 50us}, in(100ms)});
    return waited ? "no error" : waited.error().message;
  });
  EXPECT_THAT(ranks[0].said, HasSubstr(") is alive but did not come in time: it is at 3, expected 4"));
}

TEST(WaitPolicy, spins_only_where_every_rank_has_a_core) {
  EXPECT_GT(WaitPolicy::for_ranks(2, 2).spin, 0ns);
  EXPECT_EQ(WaitPolicy::for_ranks(3, 2).spin, 0ns);
  EXPECT_GE(usable_cores(), 1);
}

}  // namespace
}  // namespace hocket
