#include "comm/one_shot.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <atomic>
#include <cstring>
#include <thread>

#include "support/processes.h"
#include "support/random.h"

namespace hocket {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

Deadline soon() { return std::chrono::steady_clock::now() + 5s; }

struct Ready {
  SymmetricMemory& memory;
  OneShot& calls;
  std::int32_t rank;
};

std::vector<std::string> with_calls(int count, const std::function<Result<std::string>(Ready)>& body,
                                    std::chrono::milliseconds timeout = 5s) {
  const MeetingPlace place = MeetingPlace::random().value();
  const auto ranks = run_ranks(count, [&](int rank) {
    const auto said = [&]() -> Result<std::string> {
      HOCKET_TRY(HostLink link, HostLink::meet(place, rank, count, soon()));
      HOCKET_TRY(const PeerWatch watch, PeerWatch::create(link, soon()));
      HOCKET_TRY(SymmetricMemory memory, SymmetricMemory::create(std::move(link)));
      const OneShotOptions options{Bytes(4096), timeout, WaitPolicy::for_ranks(count, usable_cores())};
      HOCKET_TRY(OneShot calls, OneShot::create(memory, watch, options, soon()));
      return body({memory, calls, rank});
    }();
    return said ? *said : said.error().message;
  });
  std::vector<std::string> all;
  for (const RankOutcome& rank : ranks) all.push_back(rank.said);
  return all;
}

// Numbers of very different sizes, so that another order of the sum gives other bits.
std::vector<float> input_of(std::int32_t rank, std::size_t count, std::uint64_t seed) {
  Random random(seed * 100 + static_cast<std::uint64_t>(rank));
  std::vector<float> input(count);
  for (float& number : input) {
    number = static_cast<float>(random.between(-1'000'000, 1'000'000)) * random.pick({1e-6F, 1.0F, 1e4F});
  }
  return input;
}

std::vector<float> naive_sum(std::int32_t ranks, std::size_t count, std::uint64_t seed) {
  std::vector<float> sum = input_of(0, count, seed);
  for (std::int32_t rank = 1; rank < ranks; ++rank) {
    const std::vector<float> input = input_of(rank, count, seed);
    for (std::size_t i = 0; i < count; ++i) sum[i] = sum[i] + input[i];
  }
  return sum;
}

bool same_bits(const std::vector<float>& a, const std::vector<float>& b) {
  return a.size() == b.size() && (a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0);
}

TEST(OneShot, all_reduce_gives_the_bits_of_a_naive_sum_on_all_ranks) {
  for (const int ranks : {1, 2, 3, 4}) {
    const auto said = with_calls(ranks, [&](Ready ready) -> Result<std::string> {
      std::uint64_t seed = 0;
      // A slot has room for 1024.
      for (const std::size_t count : {0, 1, 7, 1023, 1024, 1025, 5003, 2048}) {
        const std::vector<float> input = input_of(ready.rank, count, ++seed);
        const std::vector<float> expected = naive_sum(ready.memory.size(), count, seed);
        std::vector<float> output(count);
        HOCKET_CHECK(ready.calls.all_reduce_sum(input, output));
        if (!same_bits(output, expected)) return fmt::format("wrong for {}", count);
        if (!same_bits(input, input_of(ready.rank, count, seed))) return fmt::format("input changed for {}", count);
        std::vector<float> in_place = input;
        HOCKET_CHECK(ready.calls.all_reduce_sum(in_place, in_place));
        if (!same_bits(in_place, expected)) return fmt::format("wrong in place for {}", count);
      }
      return "right";
    });
    for (const std::string& one : said) EXPECT_EQ(one, "right") << ranks << " ranks";
  }
}

TEST(OneShot, no_rank_overtakes_a_barrier) {
  const auto said = with_calls(4, [](Ready ready) -> Result<std::string> {
    HOCKET_TRY(const std::int64_t offset, ready.memory.allocate(Bytes(4), soon()));
    auto& counter = *reinterpret_cast<std::atomic<std::uint32_t>*>(ready.memory.at(0, offset));
    for (std::uint32_t round = 1; round <= 100; ++round) {
      counter.fetch_add(1);
      HOCKET_CHECK(ready.calls.barrier());
      if (counter.load() != 4 * round) return fmt::format("{} in round {}", counter.load(), round);
      HOCKET_CHECK(ready.calls.barrier());
    }
    return "right";
  });
  for (const std::string& one : said) EXPECT_EQ(one, "right");
}

TEST(OneShot, ranks_of_very_different_speed_stay_right) {
  const auto said = with_calls(3, [](Ready ready) -> Result<std::string> {
    Random random(static_cast<std::uint64_t>(ready.rank));
    for (int round = 0; round < 60; ++round) {
      if (random.chance(20)) std::this_thread::sleep_for(std::chrono::microseconds(random.below(500)));
      std::vector<float> data(1'500, static_cast<float>(round + ready.rank));
      HOCKET_CHECK(ready.calls.all_reduce_sum(data, data));
      const float expected = static_cast<float>(3 * round + 3);
      if (std::any_of(data.begin(), data.end(), [&](float one) { return one != expected; })) return "wrong";
    }
    return "right";
  });
  for (const std::string& one : said) EXPECT_EQ(one, "right");
}

TEST(OneShot, different_calls_fail_on_all_ranks_before_a_result_is_written) {
  const auto said = with_calls(3, [](Ready ready) -> Result<std::string> {
    HOCKET_CHECK(ready.calls.barrier());
    std::vector<float> data(ready.rank == 1 ? 8 : 3'000, 5.0F);
    const Status status = ready.calls.all_reduce_sum(data, data);
    const Status later = ready.calls.barrier();
    if (status || later || later.error() != status.error()) return "no error";
    if (std::any_of(data.begin(), data.end(), [](float one) { return one != 5.0F; })) return "written";
    return status.error().message;
  });
  for (const std::string& one : said) {
    EXPECT_EQ(one,
              "ranks made different calls: rank 0 made all_reduce_sum(f32[3000]) as call 2, rank 1 made "
              "all_reduce_sum(f32[8]) as call 2");
  }
  const auto other = with_calls(2, [](Ready ready) -> Result<std::string> {
    std::vector<float> none;
    HOCKET_CHECK(ready.rank == 0 ? ready.calls.barrier() : ready.calls.all_reduce_sum(none, none));
    return "no error";
  });
  for (const std::string& one : other) {
    EXPECT_EQ(
        one,
        "ranks made different calls: rank 0 made barrier() as call 1, rank 1 made all_reduce_sum(f32[0]) as call 1");
  }
}

TEST(OneShot, a_rank_that_dies_is_named_by_all_others) {
  const auto said = with_calls(3, [](Ready ready) -> Result<std::string> {
    for (int round = 0;; ++round) {
      if (ready.rank == 1 && round == 20) ::raise(SIGKILL);
      HOCKET_CHECK(ready.calls.barrier());
    }
  });
  for (const int rank : {0, 2}) {
    EXPECT_THAT(said[static_cast<std::size_t>(rank)], HasSubstr("rank 1 (pid "));
    EXPECT_THAT(said[static_cast<std::size_t>(rank)], HasSubstr(") was killed by signal 9 (Killed)"));
  }
}

TEST(OneShot, a_rank_that_is_late_is_named_at_the_timeout) {
  const auto said = with_calls(
      2,
      [](Ready ready) -> Result<std::string> {
        if (ready.rank == 1) std::this_thread::sleep_for(400ms);
        HOCKET_CHECK(ready.calls.barrier());
        return "no error";
      },
      150ms);
  EXPECT_THAT(said[0], HasSubstr(") is alive but did not come in time"));
}

TEST(OneShot, says_that_output_and_input_differ_in_size) {
  const auto said = with_calls(1, [](Ready ready) -> Result<std::string> {
    std::vector<float> input(3);
    std::vector<float> output(4);
    HOCKET_CHECK(ready.calls.all_reduce_sum(input, output));
    return "no error";
  });
  EXPECT_EQ(said[0], "all_reduce_sum of 3 elements into 4, expected as many");
}

}  // namespace
}  // namespace hocket
