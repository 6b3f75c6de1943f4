#include "measure_point.h"

#include <gtest/gtest.h>

namespace hocket::comm_bench {
namespace {

TEST(Amount, short_calls_are_timed_together) {
  const Amount amount = amount_for(0.5, 0.5, 10'000);
  EXPECT_EQ(amount.batch, 40);  // 20 µs
  EXPECT_EQ(amount.repetitions, 500);
}

TEST(Amount, long_calls_are_timed_one_by_one_and_a_few_times_at_least) {
  EXPECT_EQ(amount_for(1'000, 1'000, 10'000).batch, 1);
  EXPECT_EQ(amount_for(1'000, 1'000, 10'000).repetitions, 10);
  EXPECT_EQ(amount_for(90'000, 100'000, 10'000).repetitions, 3);
}

TEST(Amount, calls_that_are_seldom_as_fast_as_they_can_be_are_not_repeated_for_ages) {
  const Amount amount = amount_for(0.5, 4'000, 10'000);
  EXPECT_EQ(amount.batch, 40);
  EXPECT_EQ(amount.repetitions, 3);
}

}  // namespace
}  // namespace hocket::comm_bench
