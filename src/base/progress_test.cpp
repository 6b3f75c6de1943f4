#include "hocket/base/progress.h"

#include <gtest/gtest.h>

namespace hocket {
namespace {

TEST(Progress, draws_a_bar_of_the_part_that_is_done) {
  Progress progress("verify", 6);
  EXPECT_EQ(progress.line(37), "verify  [                ]   0 %  0/6");
  progress.advance(3);
  EXPECT_EQ(progress.line(37), "verify  [########        ]  50 %  3/6");
  progress.advance();
  EXPECT_EQ(progress.line(37), "verify  [##########      ]  66 %  4/6");
  progress.advance(2);
  EXPECT_EQ(progress.line(37), "verify  [################] 100 %  6/6");
}

TEST(Progress, fills_the_width_and_never_more) {
  Progress progress("read", 1000);
  progress.advance(123);
  for (int width = 0; width < 200; ++width) {
    const std::size_t size = progress.line(width).size();
    EXPECT_LE(size, static_cast<std::size_t>(width));
    if (width >= 40) {
      EXPECT_EQ(size, static_cast<std::size_t>(width));
    }
  }
  EXPECT_EQ(progress.line(-5), "");
}

TEST(Progress, leaves_the_bar_out_where_there_is_no_room) {
  Progress progress("read", 10);
  progress.advance(5);
  EXPECT_EQ(progress.line(18), "read  50 %  5/10");
}

TEST(Progress, stops_at_the_end) {
  Progress progress("read", 2);
  progress.advance(100);
  EXPECT_EQ(progress.line(30), "read  [###########] 100 %  2/2");
}

TEST(Progress, of_nothing_is_no_division_by_zero) {
  const Progress progress("read", 0);
  EXPECT_EQ(progress.line(30), "read  [           ]   0 %  0/1");
}

TEST(Progress, of_huge_totals_does_not_overflow) {
  constexpr std::int64_t total = std::int64_t{1} << 62;
  Progress progress("read", total);
  progress.advance(total / 2);
  EXPECT_NE(progress.line(80).find("50 %"), std::string::npos) << progress.line(80);
}

TEST(Progress, is_silent_where_stderr_is_no_terminal) {
  testing::internal::CaptureStderr();
  {
    Progress progress("read", 10);
    for (int i = 0; i < 10; ++i) progress.advance();
  }
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
}

}  // namespace
}  // namespace hocket
