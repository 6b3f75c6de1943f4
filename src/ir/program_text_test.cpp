// Text of programs of steps: random programs survive printing and parsing.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "hocket/ir/text.h"
#include "support/random_program.h"

namespace hocket {
namespace {

using testing::StartsWith;

constexpr std::uint64_t times_longer = 20;

void print_and_parse_random_programs(std::uint64_t first, std::uint64_t count) {
  for (std::uint64_t seed = first; seed < first + count; ++seed) {
    SCOPED_TRACE(fmt::format("seed {}", seed));
    const Program program = random_program(seed);
    const std::string text = print(program);
    const auto again = parse_program(text, "printed");
    ASSERT_TRUE(again) << again.error().to_string() << "\n" << text;
    ASSERT_TRUE(*again == program) << text;
    ASSERT_EQ(again->digest(), program.digest());
    ASSERT_EQ(print(*again), text);
  }
}

TEST(ProgramText, of_random_programs_parses_back_to_the_same) { print_and_parse_random_programs(0, 2000); }
TEST(LongProgramText, of_random_programs_parses_back_to_the_same) {
  print_and_parse_random_programs(1'000'000, 2000 * times_longer);
}

TEST(ProgramText, that_is_cut_off_is_an_error_at_every_place) {
  const std::string text = print(random_program(3, {.steps = 8, .placed = true, .odd_names = true}));
  const std::size_t last = text.rfind('}');
  for (std::size_t size = 0; size < last; ++size) {
    const auto program = parse_program(std::string_view(text).substr(0, size), "cut.hk");
    ASSERT_FALSE(program) << "the first " << size << " bytes";
    ASSERT_THAT(program.error().where, StartsWith("cut.hk"));
  }
}

TEST(ProgramText, that_is_not_utf8_is_refused) {
  EXPECT_EQ(parse_program("program @p { buffer %\"\xff\" = arena bytes 4 return () }", "bad.hk").error().to_string(),
            "bad.hk: not UTF-8; program text is UTF-8");
}

TEST(ProgramText, symbolic_sizes_survive) {
  const auto program = parse_program(R"(program @p {
      buffer %x = input bytes 4*s0
      buffer %y = arena bytes s0*4
      step "relu" = aten.relu(%x f32[s0]) writes (%y f32[s0])
      return (%y f32[s0])
    })",
                                     "test");
  ASSERT_TRUE(program) << program.error().to_string();
  const auto again = parse_program(print(*program), "again");
  ASSERT_TRUE(again) << again.error().to_string();
  EXPECT_TRUE(*again == *program);
}

}  // namespace
}  // namespace hocket
