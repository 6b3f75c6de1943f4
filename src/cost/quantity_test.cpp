#include "cost/quantity.h"

#include <gtest/gtest.h>

#include "support/random.h"

namespace hocket {
namespace {

std::string message(Quantity quantity, std::string_view text) {
  const auto amount = parse_quantity(quantity, text);
  return amount ? "ok" : amount.error().message;
}

TEST(Quantity, reads_a_number_and_its_unit) {
  EXPECT_EQ(parse_quantity(Quantity::bandwidth, "3350 GB/s"), 3350e9);
  EXPECT_EQ(parse_quantity(Quantity::bandwidth, "400 Gbit/s"), 50e9);
  EXPECT_EQ(parse_quantity(Quantity::throughput, "989.5 TFLOP/s"), 989.5e12);
  EXPECT_EQ(parse_quantity(Quantity::size, "256 KiB"), 262144);
  EXPECT_EQ(parse_quantity(Quantity::size, "1 MB"), 1e6);
  EXPECT_EQ(parse_time("1.5 us"), Nanoseconds::from_picoseconds(1'500'000));
  EXPECT_EQ(parse_time("1.5µs"), Nanoseconds::from_picoseconds(1'500'000));
  EXPECT_EQ(parse_time("0 s"), Nanoseconds());
}

TEST(Quantity, refuses_what_is_no_amount_of_its_kind) {
  EXPECT_EQ(message(Quantity::bandwidth, "fast"), "got \"fast\", expected a bandwidth such as \"50 GB/s\"");
  EXPECT_EQ(message(Quantity::bandwidth, "50"),
            "got \"50\", expected a bandwidth such as \"50 GB/s\"; units: B/s, kB/s, MB/s, GB/s, TB/s, Mbit/s, Gbit/s");
  EXPECT_EQ(message(Quantity::time, "50 GB/s"),
            "got \"50 GB/s\", expected a time such as \"1.5 us\"; units: ps, ns, us, ms, s, µs");
  EXPECT_EQ(message(Quantity::bandwidth, "-1 GB/s"), "got \"-1 GB/s\", expected 0 to 1000000000000 TB/s");
  EXPECT_EQ(message(Quantity::time, "1e300 s"), "got \"1e300 s\", expected 0 to 9000 s");
  for (const char* text : {"", " ", "nan us", "inf us", "1e999 us", "1.5  us", "us", "1,5 us", "0x10 us"})
    EXPECT_NE(message(Quantity::time, text), "ok") << text;
}

TEST(Quantity, writes_the_largest_unit_that_is_exact) {
  EXPECT_EQ(print_quantity(Quantity::bandwidth, 3350e9), "3.35 TB/s");
  EXPECT_EQ(print_quantity(Quantity::size, 262144), "256 KiB");
  EXPECT_EQ(print_time(Nanoseconds()), "0 ps");
  EXPECT_EQ(print_time(Nanoseconds::from_picoseconds(7'800'500)), "7.8005 us");
}

TEST(Quantity, what_is_written_reads_the_same) {
  Random random(11);
  for (int i = 0; i < 20000; ++i) {
    const auto digits = static_cast<double>(random.below(1'000'000'000'000'000));
    const double amount = digits / static_cast<double>(random.between(1, 100'000));
    for (const Quantity quantity : {Quantity::bandwidth, Quantity::throughput})
      ASSERT_EQ(parse_quantity(quantity, print_quantity(quantity, amount)), amount);
    const auto time = Nanoseconds::from_picoseconds(random.between(0, 9'000'000'000'000'000) >> random.below(50));
    ASSERT_EQ(parse_time(print_time(time)), time);
  }
}

}  // namespace
}  // namespace hocket
