#include "hocket/plan/lifetimes.h"

#include <gtest/gtest.h>

#include "hocket/ir/text.h"

namespace hocket {
namespace {

TEST(Lifetimes, last_from_the_first_touch_to_the_last_and_over_communication) {
  const auto program = parse_program(R"(
    program @p {
      group @dp = ranks[0,1]
      buffer %x = input bytes 16
      buffer %a = arena bytes 16
      buffer %s = symmetric @dp bytes 16
      buffer %all = symmetric @dp bytes 32
      buffer %b = arena bytes 16
      buffer %unused = arena bytes 16
      step "a" = aten.relu(%x f32[4]) writes (%a f32[4])
      step "s" = aten.neg(%a f32[4]) writes (%s f32[4])
      step "gather" = _c10d_functional.all_gather_into_tensor(%s f32[4], 2, @dp) writes (%all f32[8])
      step "b" = aten.neg(%x f32[4]) writes (%b f32[4])
      step "wait" = _c10d_functional.wait_tensor(%all f32[8]) writes () {waits_for="gather"}
      step "last" = aten.neg(%x f32[4]) writes (%a f32[4])
      return (%b f32[4])
    })",
                                     "test");
  ASSERT_TRUE(program) << program.error().to_string();
  const auto lifetimes = lifetimes_of(*program);
  ASSERT_EQ(lifetimes.size(), 6U);
  EXPECT_EQ(lifetimes[1], (Lifetime{0, 5}));  // %a is written again
  EXPECT_EQ(lifetimes[2], (Lifetime{1, 4}));  // %s is read until the wait
  EXPECT_EQ(lifetimes[3], (Lifetime{2, 4}));  // %all is written until the wait
  EXPECT_EQ(lifetimes[4], (Lifetime{3, 6}));  // %b is a result
  EXPECT_FALSE(lifetimes[5].is_used());
}

TEST(Lifetimes, of_what_is_never_waited_for_last_to_the_end_and_of_blocking_kernels_do_not) {
  const auto program = parse_program(R"(
    program @p {
      group @dp = ranks[0,1]
      buffer %a = symmetric @dp bytes 16
      buffer %b = symmetric @dp bytes 16
      step "a" = aten.full([4], 1.0) writes (%a f32[4])
      step "b" = aten.full([4], 1.0) writes (%b f32[4])
      step "flies" = _c10d_functional.all_reduce_(%a f32[4], "sum", @dp) writes (%a f32[4])
      step "blocks" = symm_mem.two_shot_all_reduce_(%b f32[4], "sum", @dp) writes (%b f32[4])
      step "c" = aten.full([4], 1.0) writes (%b f32[4])
      return ()
    })",
                                     "test");
  ASSERT_TRUE(program) << program.error().to_string();
  const auto lifetimes = lifetimes_of(*program);
  EXPECT_EQ(lifetimes[0], (Lifetime{0, 5}));
  EXPECT_EQ(lifetimes[1], (Lifetime{1, 4}));
}

}  // namespace
}  // namespace hocket
