#include "hocket/base/units.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <limits>

#include "support/random.h"

namespace hocket {
namespace {

constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t least = std::numeric_limits<std::int64_t>::min();

TEST(Bytes, add_and_subtract) {
  EXPECT_EQ(Bytes(3) + Bytes(4), Bytes(7));
  EXPECT_EQ(Bytes(3) - Bytes(4), Bytes(-1));
  Bytes total;
  total += Bytes(10);
  total -= Bytes(4);
  EXPECT_EQ(total, Bytes(6));
  EXPECT_LT(Bytes(6), Bytes(7));
}

TEST(Bytes, saturate_instead_of_wrapping_around) {
  EXPECT_EQ(Bytes(most) + Bytes(1), Bytes(most));
  EXPECT_EQ(Bytes(most) + Bytes(most), Bytes(most));
  EXPECT_EQ(Bytes(least) + Bytes(-1), Bytes(least));
  EXPECT_EQ(Bytes(least) - Bytes(1), Bytes(least));
  EXPECT_EQ(Bytes(most) - Bytes(-1), Bytes(most));
  EXPECT_EQ(Bytes(0) - Bytes(least), Bytes(most));
  EXPECT_EQ(Bytes(-1) - Bytes(least), Bytes(most));
}

TEST(Bytes, read_well) {
  EXPECT_EQ(to_string(Bytes(0)), "0 B");
  EXPECT_EQ(to_string(Bytes(1023)), "1023 B");
  EXPECT_EQ(to_string(Bytes(1024)), "1.00 KiB");
  EXPECT_EQ(to_string(Bytes(-1536)), "-1.50 KiB");
  EXPECT_EQ(to_string(Bytes(std::int64_t{3} << 29)), "1.50 GiB");
  EXPECT_EQ(to_string(Bytes(most)), "8.00 EiB");
}

TEST(Nanoseconds, keep_whole_picoseconds) {
  EXPECT_EQ(Nanoseconds::from_ns(1.5).picoseconds, 1500);
  EXPECT_EQ(Nanoseconds::from_ms(0.060098713).picoseconds, 60'098'713);
  EXPECT_EQ(Nanoseconds::from_seconds(2).picoseconds, 2'000'000'000'000);
  EXPECT_DOUBLE_EQ(Nanoseconds::from_seconds(2).ms(), 2000);
  EXPECT_DOUBLE_EQ(Nanoseconds::from_ms(2).seconds(), 0.002);
  EXPECT_DOUBLE_EQ(Nanoseconds::from_ms(2).ns(), 2e6);
}

TEST(Nanoseconds, saturate_instead_of_wrapping_around) {
  const auto longest = Nanoseconds::from_picoseconds(most);
  const auto shortest = Nanoseconds::from_picoseconds(least);
  const auto one = Nanoseconds::from_picoseconds(1);
  EXPECT_EQ(longest + one, longest);
  EXPECT_EQ(shortest - one, shortest);
  EXPECT_EQ(Nanoseconds() - shortest, longest);
  EXPECT_EQ(Nanoseconds::from_ms(1e300), longest);
  EXPECT_EQ(Nanoseconds::from_ms(-1e300), shortest);
  EXPECT_EQ(Nanoseconds::from_ms(std::numeric_limits<double>::infinity()), longest);
  EXPECT_EQ(Nanoseconds::from_ms(std::numeric_limits<double>::quiet_NaN()), shortest);
}

TEST(Nanoseconds, read_well) {
  EXPECT_EQ(to_string(Nanoseconds()), "0 ns");
  EXPECT_EQ(to_string(Nanoseconds::from_ns(999)), "999 ns");
  EXPECT_EQ(to_string(Nanoseconds::from_ns(12'345)), "12.35 µs");
  EXPECT_EQ(to_string(Nanoseconds::from_ms(1.5)), "1.500 ms");
  EXPECT_EQ(to_string(Nanoseconds::from_seconds(-2)), "-2.000 s");
}

TEST(ExactMs, writes_no_more_digits_than_needed) {
  EXPECT_EQ(exact_ms(Nanoseconds()), "0.0");
  EXPECT_EQ(exact_ms(Nanoseconds::from_picoseconds(60'098'713)), "0.060098713");
  EXPECT_EQ(exact_ms(Nanoseconds::from_picoseconds(1)), "0.000000001");
  EXPECT_EQ(exact_ms(Nanoseconds::from_picoseconds(-1'500'000'000)), "-1.5");
  EXPECT_EQ(exact_ms(Nanoseconds::from_ms(10)), "10.0");
  EXPECT_EQ(exact_ms(Nanoseconds::from_picoseconds(most)), "9223372036.854775807");
  EXPECT_EQ(exact_ms(Nanoseconds::from_picoseconds(least)), "-9223372036.854775808");
}

TEST(ExactMs, is_read_back_to_the_same_picosecond) {
  Random random(1);
  for (int round = 0; round < 100'000; ++round) {
    // a double holds 15 digits for sure: picoseconds below 10^15
    const std::int64_t size = random.between(0, 15);
    const auto picoseconds =
        static_cast<std::int64_t>(random.below(static_cast<std::uint64_t>(std::pow(10, size)) + 1));
    const auto time = Nanoseconds::from_picoseconds(picoseconds);
    const double read = std::strtod(exact_ms(time).c_str(), nullptr);
    ASSERT_EQ(Nanoseconds::from_ms(read), time) << exact_ms(time);
  }
}

}  // namespace
}  // namespace hocket
