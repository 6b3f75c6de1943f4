#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "comm/wire.h"

namespace hocket {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

Deadline in(std::chrono::milliseconds time) { return std::chrono::steady_clock::now() + time; }

// Complete when it was tested so many times.
class Counting final : public Request {
 public:
  Counting(std::int32_t peer, int tests) : peer_(peer), tests_(tests) {}
  Result<bool> test() override { return tests_-- <= 0; }
  std::int32_t peer() const override { return peer_; }
  void cancel() override {}

 private:
  std::int32_t peer_;
  int tests_;
};

class Failing final : public Request {
 public:
  Result<bool> test() override { return fail(ErrorKind::peer, "the cable is cut"); }
  std::int32_t peer() const override { return 9; }
  void cancel() override {}
};

std::vector<RequestHandle> requests_of(std::initializer_list<int> tests) {
  std::vector<RequestHandle> requests;
  for (const int count : tests) {
    requests.push_back(std::make_unique<Counting>(static_cast<std::int32_t>(requests.size()), count));
  }
  return requests;
}

constexpr int never = 1'000'000'000;

TEST(WireWait, ends_when_all_requests_are_complete) {
  auto requests = requests_of({3, 0, 150});
  requests.emplace_back();  // was complete before
  EXPECT_TRUE(wait_for_all(requests, in(10s), "a sum"));
}

TEST(WireWait, names_the_rank_that_does_not_come_and_what_it_should_do) {
  const auto requests = requests_of({0, never});
  const Status status = wait_for_all(requests, in(20ms), "the sum");
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().kind, ErrorKind::peer);
  EXPECT_THAT(status.error().message, HasSubstr("rank 1 did not come to the sum in time"));
}

TEST(WireWait, ends_with_the_error_of_a_request) {
  std::vector<RequestHandle> requests;
  requests.push_back(std::make_unique<Failing>());
  EXPECT_EQ(wait_for_all(requests, in(10s), "a sum").error().message, "the cable is cut");
}

TEST(WireWait, ends_long_before_the_deadline_when_there_is_a_reason) {
  const auto requests = requests_of({never});
  int looks = 0;
  const Status status = wait_for_all(requests, in(100s), "a sum", [&]() -> Status {
    return ++looks < 50 ? Status{} : fail(ErrorKind::peer, "rank 7 has died");
  });
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().message, "rank 7 has died");
}

TEST(Patience, sleeps_longer_the_longer_nothing_comes_up_to_a_limit) {
  Patience patience(Deadline::max());
  EXPECT_EQ(patience.next(), 0ns);
  std::chrono::nanoseconds last{};
  for (int i = 0; i < 1000; ++i) {
    const auto time = patience.next();
    ASSERT_GE(time, last);
    last = time;
  }
  EXPECT_EQ(last, 100us);
}

TEST(Patience, looks_at_once_where_waits_are_short_and_sleeps_a_part_of_long_ones) {
  const auto first_pause_after = [](std::chrono::nanoseconds usual) {
    Rhythm rhythm;
    rhythm.waited(4 * usual);  // a quarter of which counts
    return Patience(Deadline::max(), &rhythm).next();
  };
  EXPECT_EQ(first_pause_after(150us), 0ns);
  EXPECT_EQ(first_pause_after(400us), 100us);
  EXPECT_EQ(first_pause_after(1min), 500us);
}

TEST(Rhythm, learns_long_waits_and_forgets_them_when_they_end) {
  Rhythm rhythm;
  EXPECT_EQ(rhythm.usual(), 0ns);
  for (int i = 0; i < 20; ++i) rhythm.waited(2ms);
  EXPECT_GT(rhythm.usual(), 1900us);
  EXPECT_LE(rhythm.usual(), 2ms);
  for (int i = 0; i < 20; ++i) rhythm.waited(0ns);
  EXPECT_LT(rhythm.usual(), 10us);
}

TEST(WireWait, of_a_stream_looks_rarely_once_its_waits_are_long) {
  Rhythm rhythm;
  for (int i = 0; i < 20; ++i) rhythm.waited(2ms);
  int looks = 0;
  const auto start = std::chrono::steady_clock::now();
  const Status status = wait_for_all(
      requests_of({never}), in(100s), "a sum",
      [&]() -> Status { return ++looks < 20 ? Status{} : fail(ErrorKind::peer, "enough"); }, &rhythm);
  ASSERT_FALSE(status);
  EXPECT_GE(std::chrono::steady_clock::now() - start, 19 * 450us);  // 19 slices of nearly 500 µs
}

}  // namespace
}  // namespace hocket
