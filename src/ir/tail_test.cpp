#include "hocket/ir/tail.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include "hocket/ir/text.h"

namespace hocket {
namespace {

using testing::ElementsAre;

// Two layers: the gradient of the second is there first, and the next run needs the first parameter first.
Program two_layers(const std::string& end, const std::string& results = "%loss f32[4]") {
  const auto program = parse_program(fmt::format(R"(
    program @p {{
      group @dp = ranks[0,1]
      buffer %x = input bytes 16
      buffer %w1 = input bytes 16
      buffer %w2 = input bytes 16
      buffer %h = arena bytes 16
      buffer %loss = arena bytes 16
      buffer %g2 = symmetric @dp bytes 16
      buffer %g1 = symmetric @dp bytes 16
      step "h" = aten.add.Tensor(%x f32[4], %w1 f32[4]) writes (%h f32[4])
      step "loss" = aten.mul.Tensor(%h f32[4], %w2 f32[4]) writes (%loss f32[4])
      step "g2" = aten.neg(%loss f32[4]) writes (%g2 f32[4])
      step "r2" = _c10d_functional.all_reduce_(%g2 f32[4], "sum", @dp) writes (%g2 f32[4])
      step "g1" = aten.neg(%h f32[4]) writes (%g1 f32[4])
      step "r1" = _c10d_functional.all_reduce_(%g1 f32[4], "sum", @dp) writes (%g1 f32[4])
      step "wait1" = _c10d_functional.wait_tensor(%g1 f32[4]) writes () {{waits_for="r1"}}
      step "u1" = aten.add_.Tensor(%w1 f32[4], %g1 f32[4]) writes (%w1 f32[4])
      {}
      return ({})
    }})",
                                                 end, results),
                                     "test");
  EXPECT_TRUE(program) << program.error().to_string();
  return *program;
}

constexpr const char* second_update = R"(
      step "wait2" = _c10d_functional.wait_tensor(%g2 f32[4]) writes () {waits_for="r2"}
      step "u2" = aten.add_.Tensor(%w2 f32[4], %g2 f32[4]) writes (%w2 f32[4]))";

TEST(Tail, is_what_changes_parameters_when_communication_has_ended) {
  const Program program = two_layers(second_update);
  const Tail tail = tail_of(program);
  EXPECT_EQ(tail.begin, 6U);
  EXPECT_THAT(tail.due, ElementsAre(2, 4, 4, 4, 4, 4)) << "the first step needs %w1, the second one %w2";
  std::vector<std::string_view> names;
  for (const StepId id : carried_order(program, tail)) names.push_back(program.name(id));
  EXPECT_THAT(names, ElementsAre("wait1", "u1", "h", "wait2", "u2", "loss", "g2", "r2", "g1", "r1"));
}

TEST(Tail, has_no_part_in_results) {
  const Program program = two_layers(second_update, "%loss f32[4], %w2 f32[4]");
  EXPECT_TRUE(tail_of(program).empty());
  EXPECT_EQ(tail_of(program).begin, program.size());
}

TEST(Tail, does_not_touch_what_the_caller_brings_for_one_run) {
  const Program program = two_layers(std::string(second_update) + R"(
      step "late" = aten.add_.Tensor(%w1 f32[4], %x f32[4]) writes (%w1 f32[4]))");
  EXPECT_TRUE(tail_of(program).empty());
}

TEST(Tail, starts_no_communication) {
  const Program program = two_layers(R"(
      step "again" = _c10d_functional.all_reduce_(%g1 f32[4], "sum", @dp) writes (%g1 f32[4])
      step "wait3" = _c10d_functional.wait_tensor(%g1 f32[4]) writes () {waits_for="again"})" +
                                     std::string(second_update));
  EXPECT_EQ(tail_of(program).begin, 9U) << "behind the last start";
}

}  // namespace
}  // namespace hocket
