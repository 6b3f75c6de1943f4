#include "hocket/lower/agreement.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "hocket/ir/text.h"
#include "hocket/lower/lower.h"
#include "support/random_program.h"

namespace hocket {
namespace {

using testing::HasSubstr;

Program parsed(const std::string& text) {
  auto program = parse_program(text, "test");
  EXPECT_TRUE(program) << program.error().to_string();
  return std::move(*program);
}

// A rank's program: its groups, device, names and own slice of a buffer are its own.
std::string on_rank(int rank, std::string_view reduce = "sum", int bytes = 16) {
  return fmt::format(R"(
    program @p {{
      group @g{0} = ranks[{0},{1}]
      buffer %x{0} = input bytes 64 on "cuda:{0}"
      buffer %s = symmetric @g{0} bytes {3} on "cuda:{0}"
      step "copy{0}" = aten.add.Tensor(%x{0} f32[4] offset {4}, {0}) writes (%s f32[4])
      step "sum" = _c10d_functional.all_reduce_(%s f32[4], "{2}", @g{0}) writes (%s f32[4]) {{est=0.{0}1ms}}
      step "wait" = _c10d_functional.wait_tensor(%s f32[4]) writes () {{waits_for="sum"}}
      return (%s f32[4])
    }})",
                     rank, rank + 4, reduce, bytes, 4 * rank);
}

TEST(Agreement, does_not_depend_on_the_rank) {
  const Program first = parsed(on_rank(0));
  const Program second = parsed(on_rank(3));
  EXPECT_NE(first.digest(), second.digest());
  EXPECT_EQ(agreement_digest(first), agreement_digest(second));
  EXPECT_EQ(step_digests(first), step_digests(second));
  EXPECT_FALSE(first_difference(first, second));
}

TEST(Agreement, names_the_first_step_that_differs) {
  const Program first = parsed(on_rank(0));
  const Program second = parsed(on_rank(1, "max"));
  EXPECT_NE(agreement_digest(first), agreement_digest(second));
  const auto difference = first_difference(first, second);
  ASSERT_TRUE(difference);
  EXPECT_EQ(difference->step, 1U);
  EXPECT_THAT(difference->message,
              HasSubstr("step 1: sum is _c10d_functional.all_reduce_.default on group 0 of 2 ranks"));
  EXPECT_THAT(difference->message, HasSubstr("'sum'"));
  EXPECT_THAT(difference->message, HasSubstr("'max'"));
  EXPECT_THAT(difference->message, HasSubstr(" reads symmetric 1 f32[4] writes symmetric 1 f32[4]"));
}

TEST(Agreement, wants_the_same_symmetric_memory) {
  const auto difference = first_difference(parsed(on_rank(0)), parsed(on_rank(0, "sum", 32)));
  ASSERT_TRUE(difference);
  EXPECT_THAT(difference->message, HasSubstr("(16 bytes in group 0 of 2 ranks)"));
  EXPECT_THAT(difference->message, HasSubstr("(32 bytes in group 0 of 2 ranks)"));
}

// Both sums are of the same kind and size, and nothing is returned: only the place among the inputs tells them apart.
TEST(Agreement, wants_the_inputs_of_equal_collectives_in_the_same_order) {
  const auto sums = [](char first, char second) {
    return parsed(fmt::format(R"(
    program @p {{
      group @g = ranks[0,1]
      buffer %x = input bytes 16
      buffer %y = input bytes 16
      step "a" = _c10d_functional.all_reduce_(%{0} f32[4], "sum", @g) writes (%{0} f32[4])
      step "b" = _c10d_functional.all_reduce_(%{1} f32[4], "sum", @g) writes (%{1} f32[4])
      step "c" = _c10d_functional.wait_tensor(%{0} f32[4]) writes () {{waits_for="a"}}
      step "d" = _c10d_functional.wait_tensor(%{1} f32[4]) writes () {{waits_for="b"}}
      return ()
    }})",
                              first, second));
  };
  EXPECT_FALSE(first_difference(sums('x', 'y'), sums('x', 'y')));
  EXPECT_NE(agreement_digest(sums('x', 'y')), agreement_digest(sums('y', 'x')));
  EXPECT_TRUE(first_difference(sums('x', 'y'), sums('y', 'x')));
}

TEST(Agreement, notices_a_program_that_ends_early) {
  const std::string text = on_rank(0);
  std::string shorter = text;
  const std::size_t wait = shorter.find("step \"wait\"");
  shorter.erase(wait, shorter.find('\n', wait) - wait);
  const auto difference = first_difference(parsed(text), parsed(shorter));
  ASSERT_TRUE(difference);
  EXPECT_EQ(difference->step, 2U);
  EXPECT_THAT(difference->message, HasSubstr("the other goes on with wait, 1 steps more"));
}

TEST(Agreement, digest_and_first_difference_agree_on_random_programs) {
  std::size_t different = 0;
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    const Program a = random_program(seed, {.steps = 6, .width = 4});
    const Program b = random_program(seed + 1, {.steps = 6, .width = 4});
    const auto difference = first_difference(a, b);
    EXPECT_EQ(difference.has_value(), agreement_digest(a) != agreement_digest(b)) << seed;
    EXPECT_FALSE(first_difference(a, a));
    if (!difference) continue;
    ++different;
    const auto in_a = step_digests(a);
    const auto in_b = step_digests(b);
    const std::size_t first = static_cast<std::size_t>(
        std::mismatch(in_a.begin(), in_a.end(), in_b.begin(), in_b.end()).first - in_a.begin());
    EXPECT_EQ(first, difference->step) << seed;
  }
  EXPECT_GT(different, 190U);
}

}  // namespace
}  // namespace hocket
