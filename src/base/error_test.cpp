#include "hocket/base/error.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

namespace hocket {
namespace {

Result<int> half(int number) {
  if (number % 2 != 0) return fail(ErrorKind::usage, "{} is odd, expected an even number", number);
  return number / 2;
}

Result<int> quarter(int number) {
  HOCKET_TRY(const int once, half(number));
  HOCKET_TRY(const int twice, half(once));
  return twice;
}

Status must_be_small(int number) {
  if (number > 9) return fail(ErrorKind::input, "{} has two digits", number);
  return {};
}

Status all_small(int a, int b) {
  HOCKET_CHECK(must_be_small(a));
  HOCKET_CHECK(must_be_small(b));
  return {};
}

TEST(Error, says_where_before_what) {
  EXPECT_EQ((Error{ErrorKind::input, "unknown value %y", "step.hk:12:7"}).to_string(),
            "step.hk:12:7: unknown value %y");
  EXPECT_EQ((Error{ErrorKind::input, "unknown value %y", ""}).to_string(), "unknown value %y");
}

TEST(Error, gets_a_place_only_once) {
  const Error placed = at(Error{ErrorKind::input, "m", ""}, "inner");
  EXPECT_EQ(placed.where, "inner");
  EXPECT_EQ(at(placed, "outer").where, "inner");
}

TEST(Error, kinds_have_different_names) {
  std::set<std::string> names;
  for (const ErrorKind kind :
       {ErrorKind::usage, ErrorKind::input, ErrorKind::system, ErrorKind::peer, ErrorKind::internal}) {
    names.insert(name_of(kind));
  }
  EXPECT_EQ(names.size(), 5U);
}

TEST(Result, passes_values_and_the_first_error_on) {
  EXPECT_EQ(quarter(8), 2);
  EXPECT_EQ(quarter(7).error().message, "7 is odd, expected an even number");
  EXPECT_EQ(quarter(6).error().message, "3 is odd, expected an even number");
  EXPECT_EQ(quarter(6).error().kind, ErrorKind::usage);
}

TEST(Status, passes_the_first_error_on) {
  EXPECT_TRUE(all_small(1, 2));
  EXPECT_EQ(all_small(10, 11).error().message, "10 has two digits");
  EXPECT_EQ(all_small(1, 11).error().message, "11 has two digits");
}

}  // namespace
}  // namespace hocket
