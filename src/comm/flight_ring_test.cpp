#include "comm/flight_ring.h"

#include <gtest/gtest.h>

#include <memory>
#include <thread>

namespace hocket {
namespace {

// Zeroed memory, as in a segment.
std::unique_ptr<FlightRing> empty_ring() { return std::make_unique<FlightRing>(); }

GroupCall call_number(std::uint64_t number) {
  GroupCall call;
  call.op = Operator::all_gather;
  call.dtype = Dtype::bf16;
  call.count = static_cast<std::int64_t>(number) * 10;
  call.number = number;
  call.site = CallSite::current();
  return call;
}

TEST(FlightRing, knows_the_last_call_that_was_begun_and_finished) {
  const auto ring = empty_ring();
  EXPECT_EQ(ring->begun(), 0U);
  EXPECT_EQ(ring->finished(), 0U);
  ring->begin(call_number(1), CollectiveAlgorithm::automatic);
  ring->finish(1);
  ring->begin(call_number(2), CollectiveAlgorithm::automatic);
  EXPECT_EQ(ring->begun(), 2U);
  EXPECT_EQ(ring->finished(), 1U);
  EXPECT_GE(ring->read(1).finished, ring->read(1).started);
  EXPECT_EQ(ring->read(2).finished, 0U);
  EXPECT_GE(ring->read(2).started, ring->read(1).started);
}

TEST(FlightRing, says_what_a_call_was_and_who_made_it) {
  const auto ring = empty_ring();
  const GroupCall call = call_number(3);
  ring->begin(call, CollectiveAlgorithm::automatic);
  EXPECT_EQ(ring->describe(3), call.to_string());
  EXPECT_NE(ring->describe(3).find("all_gather(bf16[30]) as call 3 at flight_ring_test.cpp:"), std::string::npos);
}

TEST(FlightRing, keeps_the_last_1024) {
  const auto ring = empty_ring();
  for (std::uint64_t number = 1; number <= 3000; ++number) {
    ring->begin(call_number(number), CollectiveAlgorithm::automatic);
    ring->finish(number);
  }
  for (std::uint64_t number = 3000 - FlightRing::size + 1; number <= 3000; ++number) {
    ASSERT_EQ(ring->read(number).call.number, number);
    ASSERT_EQ(ring->read(number).call.count, static_cast<std::int64_t>(number) * 10);
  }
  EXPECT_EQ(ring->read(3000 - FlightRing::size).call.number, 3000U) << "overwritten, which shows in the number";
}

TEST(FlightRing, can_be_read_while_it_is_written) {
  const auto ring = empty_ring();
  std::thread writer([&] {
    for (std::uint64_t number = 1; number <= 20'000; ++number) {
      ring->begin(call_number(number), CollectiveAlgorithm::automatic);
      ring->finish(number);
    }
  });
  for (std::uint64_t seen = 0; seen < 20'000;) {
    const std::uint64_t begun = ring->begun();
    const std::uint64_t finished = ring->finished();
    ASSERT_GE(begun, seen);
    ASSERT_LE(finished, ring->begun());
    if (finished != 0) {
      ASSERT_FALSE(ring->describe(finished).empty());
    }
    seen = finished;
  }
  writer.join();
}

TEST(Ticks, go_on_at_the_rate_that_they_say) {
  const std::uint64_t first = ticks();
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  const double seconds = static_cast<double>(ticks() - first) / ticks_per_second();
  EXPECT_GT(seconds, 0.015);
  EXPECT_LT(seconds, 5.0);
}

}  // namespace
}  // namespace hocket
