#include "comm/spread.h"

#include <gmock/gmock.h>
#include <sched.h>

namespace hocket {
namespace {

using testing::Optional;

const std::vector<int> two = {0, 1};

std::optional<int> answer(std::vector<int> cores, std::size_t self, const std::vector<int>& allowed = two) {
  return better_core(cores, self, allowed);
}

TEST(BetterCore, is_the_one_with_fewer_ranks_for_the_last_rank_of_a_full_one) {
  EXPECT_THAT(answer({0, 0, 1, 0}, 3), Optional(1));
  EXPECT_EQ(answer({0, 0, 1, 0}, 0), std::nullopt) << "only one goes";
  EXPECT_EQ(answer({0, 0, 1, 0}, 2), std::nullopt) << "it is alone";
  EXPECT_THAT(answer({1, 1, 1, 1}, 3), Optional(0));
  EXPECT_THAT(answer({5, 5, 5, 2, 2}, 2, {2, 3, 5}), Optional(3));
}

TEST(BetterCore, is_none_where_ranks_are_spread) {
  for (std::size_t self = 0; self < 4; ++self) {
    EXPECT_EQ(answer({0, 1, 0, 1}, self), std::nullopt);
    EXPECT_EQ(answer({1, 1, 0, 0}, self), std::nullopt);
  }
  for (std::size_t self = 0; self < 3; ++self)
    EXPECT_EQ(answer({0, 0, 1}, self), std::nullopt) << "no better elsewhere";
}

TEST(BetterCore, is_none_that_this_rank_may_not_use_or_where_somebody_is_not_known) {
  EXPECT_EQ(answer({0, 0, 0, 1}, 2, {0}), std::nullopt);
  EXPECT_EQ(answer({0, 0, 0, -1}, 2), std::nullopt);
  EXPECT_EQ(answer({0, 0, 0, 1}, 2, {}), std::nullopt);
}

// Whoever moves as told, one after the other, ends with ranks spread as evenly as cores allow.
TEST(BetterCore, leads_to_an_even_spread) {
  const std::vector<int> allowed = {0, 1, 2};
  for (int start = 0; start < 3 * 3 * 3 * 3 * 3 * 3 * 3; ++start) {
    std::vector<int> cores(7);
    for (int rest = start; int& core : cores) core = std::exchange(rest, rest / 3) % 3;
    for (int moves = 0; moves < 20; ++moves) {
      for (std::size_t self = 0; self < cores.size(); ++self) {
        if (const auto core = better_core(cores, self, allowed)) cores[self] = *core;
      }
    }
    for (const int core : allowed) EXPECT_GE(std::ranges::count(cores, core), 2) << "start " << start;
  }
}

TEST(GoToCore, takes_a_thread_there_and_leaves_it_free_to_go_elsewhere) {
  const std::vector<int> before = allowed_cores();
  ASSERT_FALSE(before.empty());
  for (const int core : before) {
    go_to_core(core);
    EXPECT_EQ(allowed_cores(), before);
  }
  go_to_core(before.back() + 1);  // it may not go there
  EXPECT_EQ(allowed_cores(), before);
}

}  // namespace
}  // namespace hocket
