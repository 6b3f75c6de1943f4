#include "comm/flag.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <cstring>
#include <limits>
#include <memory>
#include <thread>

#include "comm/host_memory.h"
#include "comm/peer_watch.h"
#include "comm/strangers.h"
#include "support/processes.h"

namespace hocket {
namespace {

using namespace std::chrono_literals;

Deadline in(std::chrono::milliseconds time) { return std::chrono::steady_clock::now() + time; }

constexpr WaitPolicy sleep_at_once{0ns, 0ns};

// As its users wait: spin as long as it pays, then sleep again and again.
bool wait(Flag& flag, std::uint32_t number, const WaitPolicy& policy, Deadline deadline = in(10s)) {
  if (spin_until_raised(flag, number, policy)) return true;
  while (!raised(flag, number)) {
    if (std::chrono::steady_clock::now() >= deadline) return false;
    sleep_until_raised(flag, number, 5s);
  }
  return true;
}

// Flags of ranks that are processes, at the begin of their segments.
class Flags {
 public:
  explicit Flags(HostMemory memory, std::int32_t size) : memory_(std::move(memory)), size_(size) {}
  Flag& of(std::int32_t rank) const { return *reinterpret_cast<Flag*>(memory_.at(rank, 0)); }
  std::int32_t self() const { return memory_.self(); }

  // Each rank counts, and waits for its neighbour to come as far.
  std::string go_round(WaitPolicy policy, std::uint32_t first, int rounds) const {
    for (int round = 0; round < rounds; ++round) {
      const auto number = first + static_cast<std::uint32_t>(round);
      raise(of(self()), number);
      if (!wait(of((self() + 1) % size_), number, policy)) return fmt::format("stuck in round {}", round);
    }
    return "done";
  }

 private:
  HostMemory memory_;
  std::int32_t size_;
};

void expect_done(int count, const std::function<std::string(const Flags&)>& body) {
  const MeetingPlace place = MeetingPlace::random().value();
  const auto ranks = run_ranks(count, [&](int rank) -> std::string {
    Result<HostLink> link = HostLink::meet(place, rank, count, in(10s));
    if (!link) return link.error().message;
    Result<HostMemory> memory = HostMemory::create(*link, Sharing::processes, in(10s));
    if (!memory) return memory.error().message;
    return body(Flags(std::move(*memory), count));
  });
  for (const RankOutcome& rank : ranks) EXPECT_EQ(rank.said, "done");
}

TEST(Flag, every_way_to_wait_comes_to_an_end) {
  for (const WaitPolicy policy : {sleep_at_once, WaitPolicy{0ns, 1ms}, WaitPolicy{1ms, 0ns}, WaitPolicy{50us, 50us}}) {
    expect_done(2, [&](const Flags& flags) { return flags.go_round(policy, 1, 300); });
  }
}

TEST(Flag, more_ranks_than_cores_get_on) {
  expect_done(6, [](const Flags& flags) { return flags.go_round(WaitPolicy::for_ranks(6, 2), 1, 100); });
}

TEST(Flag, the_number_may_wrap_around) {
  expect_done(2, [](const Flags& flags) -> std::string {
    // From 0 to 2^32 - 50 in two steps that are each less than 2^31.
    const std::string half = flags.go_round(sleep_at_once, 0x7fff'ff00U, 1);
    return half == "done" ? flags.go_round(sleep_at_once, 0xffff'ff00U - 50U, 400) : half;
  });
}

TEST(Flag, what_was_written_before_it_was_raised_is_seen_after_the_wait) {
  // In one process, so that a thread sanitizer sees both sides.
  for (const WaitPolicy policy : {sleep_at_once, WaitPolicy{20us, 20us}}) {
    Flag ping{};
    Flag pong{};
    std::int64_t data = 0;
    std::thread other([&] {
      for (std::uint32_t i = 1; i <= 500; ++i) {
        if (!wait(ping, i, policy)) return;
        data *= 2;
        raise(pong, i);
      }
    });
    for (std::uint32_t i = 1; i <= 500; ++i) {
      data = i;
      raise(ping, i);
      ASSERT_TRUE(wait(pong, i, policy));
      ASSERT_EQ(data, 2 * i);
    }
    other.join();
  }
}

TEST(Flag, a_sleeper_wakes_at_its_time_and_when_somebody_wakes_it) {
  Flag flag{};
  const auto start = std::chrono::steady_clock::now();
  sleep_until_raised(flag, 1, 1ms);
  EXPECT_LT(std::chrono::steady_clock::now() - start, 5s);
  EXPECT_FALSE(raised(flag, 1));
  std::atomic<bool> awake = false;
  std::thread sleeper([&] {
    sleep_until_raised(flag, 1, 60s);
    awake = true;
  });
  while (!awake) {
    wake(flag);
    std::this_thread::sleep_for(1ms);
  }
  sleeper.join();
  EXPECT_LT(std::chrono::steady_clock::now() - start, 50s);
  EXPECT_EQ(flag.sleepers, 0U);
}

TEST(Flag, that_is_raised_already_keeps_nobody) {
  Flag flag{};
  raise(flag, 5);
  EXPECT_TRUE(spin_until_raised(flag, 5, sleep_at_once));
  EXPECT_TRUE(spin_until_raised(flag, 3, sleep_at_once));
  EXPECT_FALSE(spin_until_raised(flag, 6, sleep_at_once));
  EXPECT_FALSE(spin_until_raised(flag, 6, {100us, 100us}));
  const auto start = std::chrono::steady_clock::now();
  sleep_until_raised(flag, 5, 60s);
  EXPECT_LT(std::chrono::steady_clock::now() - start, 30s);
}

TEST(PeerWatch, names_a_rank_that_was_killed_and_one_that_ended) {
  const MeetingPlace place = MeetingPlace::random().value();
  const auto ranks = run_ranks(3, [&](int rank) -> std::string {
    Result<HostLink> link = HostLink::meet(place, rank, 3, in(10s));
    if (!link) return link.error().message;
    // They have other numbers in the world.
    const Result<PeerWatch> watch = PeerWatch::create(*link, {10, 11, 12}, in(10s));
    if (!watch) return watch.error().message;
    if (rank == 1) ::raise(SIGKILL);
    if (rank == 2) _exit(5);
    const auto until_it_ends = [&](std::int32_t index) {
      Status status = watch->check(index);
      for (const Deadline end = in(10s); status && std::chrono::steady_clock::now() < end;)
        status = watch->check(index);
      return status ? "lives" : status.error().message;
    };
    return fmt::format("{}; {}; {}", watch->check(0).has_value(), until_it_ends(1), until_it_ends(2));
  });
  EXPECT_THAT(ranks[0].said,
              testing::MatchesRegex("true; rank 11 \\(pid [0-9]+\\) was killed by signal 9 \\(Killed\\); "
                                    "rank 12 \\(pid [0-9]+\\) exited with code 5"));
}

TEST(Strangers, are_expected_for_the_longer_the_more_often_they_were_met) {
  const auto waits_asleep = [](Strangers& strangers) {
    int waits = 0;
    while (strangers.expected()) ++waits;
    return waits;
  };
  Strangers strangers;
  EXPECT_EQ(waits_asleep(strangers), 0);
  std::vector<int> waits;
  for (int i = 0; i < 7; ++i) {
    strangers.met();
    waits.push_back(waits_asleep(strangers));
  }
  EXPECT_THAT(waits, testing::ElementsAre(8, 16, 32, 64, 128, 256, 256));
  for (int i = 0; i < 10; ++i) strangers.not_met();
  EXPECT_EQ(waits_asleep(strangers), 0);
  strangers.met();
  EXPECT_EQ(waits_asleep(strangers), 8);
}

TEST(Strangers, are_among_the_threads_to_run) {
  constexpr std::int64_t unknown = std::numeric_limits<std::int64_t>::max();
  EXPECT_EQ(threads_to_run("0.52 0.41 0.38 3/412 29711\n"), 3);
  EXPECT_EQ(threads_to_run("1/2"), 1);
  for (const char* const other : {"", "0.52 0.41", "/", " /412", "x/412", "99999999999999999999/1"})
    EXPECT_EQ(threads_to_run(other), unknown) << other;

  // Others may end or begin, so some time it is at least one more with a thread that computes than this one alone.
  std::atomic<bool> over = false;
  std::thread busy([&] {
    while (!over) continue;
  });
  std::int64_t most = 0;
  for (const Deadline end = in(10s); most < 2 && std::chrono::steady_clock::now() < end;) most = threads_to_run();
  over = true;
  busy.join();
  EXPECT_GE(most, 2);
  EXPECT_LT(most, unknown);
}

TEST(WaitPolicy, spins_only_where_every_rank_has_a_core) {
  EXPECT_GT(WaitPolicy::for_ranks(2, 2).spin, 0ns);
  EXPECT_EQ(WaitPolicy::for_ranks(3, 2).spin, 0ns);
  EXPECT_GE(processor_count(), 1);
}

}  // namespace
}  // namespace hocket
