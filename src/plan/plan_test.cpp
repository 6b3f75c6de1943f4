#include "hocket/plan/plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "hocket/ir/text.h"
#include "hocket/ir/verify.h"
#include "support/random_program.h"
#include "support/soundness.h"
#include "support/terms.h"

namespace hocket {
namespace {

using testing::HasSubstr;

Program parsed(const std::string& text) {
  auto program = parse_program(text, "test");
  EXPECT_TRUE(program) << program.error().to_string();
  return std::move(*program);
}

TEST(Plan, random_programs_compute_the_same_in_planned_memory) {
  for (std::uint64_t seed = 0; seed < 400; ++seed) {
    const Program program = random_program(seed, {.steps = 40});
    const auto planned = plan(program);
    ASSERT_TRUE(planned) << planned.error().to_string();
    ASSERT_EQ(problems_of(planned->program), "") << seed << "\n" << print(planned->program);
    const TermsRun before = run_terms(program);
    const TermsRun after = run_terms(planned->program);
    ASSERT_TRUE(after.problems.empty()) << seed << ": " << after.problems.front();
    ASSERT_EQ(before.results, after.results) << seed << "\n" << print(planned->program);
    ASSERT_EQ(before.inputs, after.inputs) << seed;
  }
}

TEST(Plan, aligns_every_offset) {
  for (const std::int64_t alignment : {1, 16, 64, 512}) {
    for (std::uint64_t seed = 0; seed < 30; ++seed) {
      const auto planned = plan(random_program(seed), {.alignment = alignment});
      ASSERT_TRUE(planned);
      EXPECT_EQ(problems_of(planned->program), "");
      for (const Buffer& buffer : planned->program.buffers()) {
        EXPECT_TRUE(buffer.placed_at < 0 || buffer.placed_at % alignment == 0);
      }
    }
  }
}

TEST(Plan, gives_the_same_places_every_time_and_whatever_was_planned_before) {
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    const Program program = random_program(seed);
    const auto once = plan(program);
    EXPECT_EQ(once->program, plan(program)->program);
    EXPECT_EQ(once->program, plan(once->program)->program);
  }
}

TEST(Plan, refuses_an_alignment_that_is_no_power_of_two) {
  for (const std::int64_t alignment : {0, -64, 48}) {
    const auto planned = plan(random_program(1), {.alignment = alignment});
    ASSERT_FALSE(planned);
    EXPECT_THAT(planned.error().to_string(), HasSubstr("expected a power of two"));
  }
}

TEST(Plan, refuses_sizes_that_no_machine_has_and_takes_the_largest_below) {
  const auto with_buffers = [](int count) {
    std::string text = "program @p {\n";
    for (int i = 0; i < count; ++i) text += fmt::format("buffer %b{} = arena bytes 1152921504606846976\n", i);
    for (int i = 0; i < count; ++i)
      text += fmt::format("step \"s{0}\" = aten.full([4], 1.0) writes (%b{0} f32[4])\n", i);
    return parsed(text + "return (%b0 f32[4])\n}");
  };
  const auto planned = plan(with_buffers(2));
  ASSERT_TRUE(planned) << planned.error().to_string();
  EXPECT_EQ(problems_of(planned->program), "");
  EXPECT_EQ(planned->report.size(), Bytes(std::int64_t{1} << 61));
  const auto refused = plan(with_buffers(3));
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().to_string(),
              HasSubstr("more than 2^61 bytes together; %b2 alone has 1152921504606846976"));
}

TEST(Plan, of_an_empty_program_is_empty) {
  const auto planned = plan(parsed("program @p {\n return ()\n}"));
  ASSERT_TRUE(planned);
  EXPECT_EQ(planned->report.size(), Bytes(0));
  EXPECT_EQ(planned->report.ratio(), 1.0);
}

}  // namespace
}  // namespace hocket
