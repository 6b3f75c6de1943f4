#include "hocket/base/nearest.h"

#include <gtest/gtest.h>

#include <array>

namespace hocket {
namespace {

constexpr std::array<std::string_view, 3> commands = {"verify", "convert", "stats"};

TEST(Nearest, FindsTheNameWithTheFewestEdits) {
  EXPECT_EQ(nearest("verfy", commands), "verify");
  EXPECT_EQ(nearest("covnert", commands), "convert");
  EXPECT_EQ(nearest("stats", commands), "stats");
}

TEST(Nearest, FindsNothingWhereTooMuchDiffers) {
  EXPECT_EQ(nearest("frobnicate", commands), "");
  EXPECT_EQ(nearest("", commands), "");
  EXPECT_EQ(nearest(std::string(1000, 'v'), commands), "");
}

TEST(EditDistance, StopsAtTheLimit) {
  EXPECT_EQ(edit_distance("kitten", "sitting", 10), 3U);
  EXPECT_EQ(edit_distance("kitten", "sitting", 2), 2U);
  EXPECT_EQ(edit_distance("", "abc", 10), 3U);
}

}  // namespace
}  // namespace hocket
