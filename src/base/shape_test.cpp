#include "hocket/base/shape.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/random.h"

namespace hocket {
namespace {

using testing::HasSubstr;

class Symbols : public testing::Test {
 protected:
  Dim dim(std::string_view text) {
    auto parsed = table_.parse(text);
    EXPECT_TRUE(parsed) << text << ": " << (parsed ? "" : parsed.error().message);
    return parsed.value_or(Dim(0));
  }
  std::string normal(std::string_view text) { return table_.to_string(dim(text)); }
  std::string refusal(std::string_view text) {
    auto parsed = table_.parse(text);
    EXPECT_FALSE(parsed) << text;
    return parsed ? "" : parsed.error().message;
  }
  std::string text(std::optional<Dim> answer) { return answer ? table_.to_string(*answer) : "nothing"; }

  SymbolTable table_;
};

TEST(Dim, is_static_or_symbolic) {
  EXPECT_TRUE(Dim(0).is_static());
  EXPECT_TRUE(Dim(Dim::max).is_static());
  EXPECT_EQ(Dim(7).value(), 7);
  const Dim symbolic = Dim::symbolic(3);
  EXPECT_FALSE(symbolic.is_static());
  EXPECT_EQ(symbolic.expression(), 3U);
  EXPECT_NE(symbolic, Dim(3));
  EXPECT_EQ(Dim::symbolic(0xffffffff).expression(), 0xffffffffU);
  EXPECT_FALSE(Dim::symbolic(0xffffffff).is_static());
}

TEST(Dim, lists_are_static_when_all_their_dims_are) {
  const std::vector<Dim> fixed = {1, 2};
  const std::vector<Dim> mixed = {1, Dim::symbolic(0)};
  EXPECT_TRUE(all_static(fixed));
  EXPECT_TRUE(all_static({}));
  EXPECT_FALSE(all_static(mixed));
}

TEST_F(Symbols, plain_numbers_are_static) {
  EXPECT_EQ(dim("0"), Dim(0));
  EXPECT_EQ(dim("1024"), Dim(1024));
  EXPECT_EQ(dim(" 3 * 4 + 2 "), Dim(14));
  EXPECT_EQ(dim("1152921504606846976"), Dim(Dim::max));
  EXPECT_TRUE(table_.empty());
}

TEST_F(Symbols, equal_expressions_are_equal_dims) {
  EXPECT_EQ(dim("s0*1024"), dim("1024*s0"));
  EXPECT_EQ(dim("s0 + s0"), dim("2*s0"));
  EXPECT_EQ(dim("s1*s0"), dim("s0*s1"));
  EXPECT_EQ(dim("(s0 + 1)*(s0 + 1)"), dim("s0*s0 + 2*s0 + 1"));
  EXPECT_EQ(dim("8 + s0 - 8"), dim("s0"));
  EXPECT_EQ(dim("s0 - s0 + 5"), Dim(5));
  EXPECT_NE(dim("s0"), dim("s1"));
  EXPECT_NE(dim("s0"), dim("s0 + 1"));
}

TEST_F(Symbols, are_written_in_one_normal_form) {
  EXPECT_EQ(normal("1024*s0"), "s0*1024");
  EXPECT_EQ(normal("8 + 2*s0"), "s0*2 + 8");
  EXPECT_EQ(normal("s0 - 1"), "s0 - 1");
  EXPECT_EQ(normal("-s0 + 10"), "-s0 + 10");
  EXPECT_EQ(normal("s0*s0*s1"), "s0*s0*s1");
}

TEST_F(Symbols, are_written_the_same_whatever_was_met_before) {
  SymbolTable other;
  EXPECT_TRUE(other.parse("z*y*x + y"));
  for (const char* text : {"x + 2*y", "y*x*4 - x + z", "z*z + x*y", "7 - z + x"}) {
    EXPECT_EQ(normal(text), other.to_string(*other.parse(text))) << text;
  }
  EXPECT_EQ(normal("3 + b + a*a - c*a*5"), "a*a - a*c*5 + b + 3");
}

TEST_F(Symbols, the_normal_form_reads_back_as_the_same_dim) {
  Random random(7);
  for (int round = 0; round < 2000; ++round) {
    std::string expression = fmt::format("{}", random.between(0, 9));
    for (std::int64_t term = random.between(0, 4); term > 0; --term) {
      expression += random.pick({" + ", " - ", "*"});
      expression += random.chance(50) ? fmt::format("s{}", random.below(3))
                                      : fmt::format("(s{} + {})", random.below(3), random.below(5));
    }
    const auto parsed = table_.parse(expression);
    if (!parsed) continue;  // negative
    EXPECT_EQ(dim(table_.to_string(*parsed)), *parsed) << expression;
  }
}

TEST_F(Symbols, wrong_expressions_are_refused_with_the_place) {
  EXPECT_THAT(refusal(""), HasSubstr("size expression '' lacks a number or a symbol (column 1)"));
  EXPECT_THAT(refusal("s0 +"), HasSubstr("'s0 +' lacks a number or a symbol (column 5)"));
  EXPECT_THAT(refusal("s0 s1"), HasSubstr("does not end there (column 4)"));
  EXPECT_THAT(refusal("(s0"), HasSubstr("lacks a closing parenthesis (column 4)"));
  EXPECT_THAT(refusal("s0/2"), HasSubstr("does not end there (column 3)"));
  EXPECT_THAT(refusal("-3"), HasSubstr("is negative"));
  EXPECT_THAT(refusal("3 - 5"), HasSubstr("is negative"));
  for (const char* text : {"", "*", "s0*", "()", "é", "s0\n", "0x10", "1.5"}) {
    EXPECT_THAT(refusal(text), HasSubstr("expected something like s0*1024 + 8")) << text;
  }
}

TEST_F(Symbols, huge_numbers_are_refused) {
  EXPECT_THAT(refusal("1152921504606846977"), HasSubstr("is larger than 2^60"));
  EXPECT_THAT(refusal("9223372036854775807"), HasSubstr("is larger than 2^60"));
  EXPECT_THAT(refusal("9223372036854775808"), HasSubstr("has a number above 2^63"));
  EXPECT_THAT(refusal("99999999999999999999999999*s0"), HasSubstr("has a number above 2^63"));
  EXPECT_THAT(refusal("4611686018427387904*s0*2"), HasSubstr("too large numbers"));
  EXPECT_THAT(refusal("9223372036854775807*s0 + s0"), HasSubstr("too large numbers"));
  EXPECT_THAT(refusal("-(-9223372036854775807*s0 - s0)"), HasSubstr("too large numbers"));
}

TEST_F(Symbols, hostile_expressions_stay_small) {
  std::string power = "s0";
  for (int i = 0; i < 100; ++i) power += "*s0";
  EXPECT_THAT(refusal(power), HasSubstr("too many terms"));
  std::string sum = "1";
  for (int i = 0; i < 100; ++i) sum += fmt::format(" + a{}", i);
  EXPECT_THAT(refusal(sum), HasSubstr("too many terms"));
  EXPECT_THAT(refusal(std::string(100'000, '(') + "1" + std::string(100'000, ')')), HasSubstr("is nested too deeply"));
  std::string squares = "(a+b+c+d+e+f+g+h)";
  for (int i = 0; i < 40; ++i) squares += "*(a+b+c+d+e+f+g+h)";
  EXPECT_THAT(refusal(squares), HasSubstr("too many terms"));
}

TEST_F(Symbols, add_and_multiply) {
  EXPECT_EQ(text(table_.add(Dim(2), Dim(3))), "5");
  EXPECT_EQ(text(table_.add(dim("s0"), Dim(3))), "s0 + 3");
  EXPECT_EQ(text(table_.add(dim("-s0 + 4"), dim("s0"))), "4");
  EXPECT_EQ(text(table_.multiply(dim("s0 + 1"), Dim(4))), "s0*4 + 4");
  EXPECT_EQ(text(table_.multiply(dim("s0"), Dim(0))), "0");
  EXPECT_EQ(text(table_.multiply(dim("s0"), dim("s1"))), "s0*s1");
}

TEST_F(Symbols, divide_only_where_every_term_divides) {
  EXPECT_EQ(text(table_.divide_exactly(Dim(12), 4)), "3");
  EXPECT_EQ(text(table_.divide_exactly(Dim(13), 4)), "nothing");
  EXPECT_EQ(text(table_.divide_exactly(dim("8*s0 + 4"), 4)), "s0*2 + 1");
  EXPECT_EQ(text(table_.divide_exactly(dim("8*s0 + 2"), 4)), "nothing");
  EXPECT_EQ(text(table_.divide_exactly(Dim(0), 4)), "0");
  EXPECT_EQ(text(table_.divide_exactly(Dim(12), 0)), "nothing");
  EXPECT_EQ(text(table_.divide_exactly(Dim(12), -4)), "nothing");
}

TEST_F(Symbols, arithmetic_that_overflows_has_no_answer) {
  const Dim large = Dim::max;
  EXPECT_EQ(text(table_.multiply(large, large)), "nothing");
  EXPECT_EQ(text(table_.multiply(large, Dim(2))), "nothing");
  EXPECT_EQ(text(table_.add(large, Dim(1))), "nothing");
  EXPECT_EQ(text(table_.multiply(large, dim("1024*s0"))), "nothing");
  const std::vector<Dim> cube = {large, large, large};
  EXPECT_EQ(text(table_.product(cube)), "nothing");
  const std::vector<Dim> with_zero = {0, 5};
  EXPECT_EQ(text(table_.product(with_zero)), "0");
  EXPECT_EQ(text(table_.product({})), "1");
}

TEST_F(Symbols, contiguous_strides_step_over_empty_dims) {
  const auto strides = [&](std::vector<Dim> shape) { return contiguous_strides(shape, table_)->dims; };
  EXPECT_EQ(strides({}), (std::vector<Dim>{}));
  EXPECT_EQ(strides({2, 3, 4}), (std::vector<Dim>{12, 4, 1}));
  EXPECT_EQ(strides({2, 0, 4}), (std::vector<Dim>{4, 4, 1}));
  EXPECT_EQ(strides({2, dim("s0"), 4}), (std::vector<Dim>{dim("4*s0"), 4, 1}));
  const std::vector<Dim> huge = {Dim::max, Dim::max, Dim::max};
  EXPECT_FALSE(contiguous_strides(huge, table_));
}

}  // namespace
}  // namespace hocket
