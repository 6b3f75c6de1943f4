// What the iterative passes say of a move, against the places of all steps before and after it.
#include "hocket/schedule/iterative.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "hocket/schedule/timeline.h"
#include "support/random.h"
#include "support/random_graph.h"

namespace hocket {
namespace {

std::vector<std::size_t> places_in(std::span<const StepIndex> order) {
  std::vector<std::size_t> places(order.size());
  for (std::size_t p = 0; p < order.size(); ++p) places[order[p]] = p;
  return places;
}

// Of the move of one step: who was passed, and who came along.
void expect_said(const StepGraph& steps, const IterativeResult& result, const CollectiveMove& said, StepIndex moved,
                 Direction direction) {
  const auto before = places_in(steps.original_order());
  const auto after = places_in(result.order);
  std::size_t passed = 0;
  std::vector<StepIndex> along;
  for (StepIndex step = 0; step < steps.size(); ++step) {
    if (step == moved) continue;
    if ((before[step] < before[moved]) != (after[step] < after[moved])) ++passed;
    else if (direction == Direction::earlier ? after[step] < before[step] : after[step] > before[step])
      along.push_back(step);
  }
  EXPECT_EQ(said.passed, passed);
  std::vector<StepIndex> grouped = said.grouped;
  std::sort(grouped.begin(), grouped.end());
  // What came along behind the last step that was passed kept its place.
  EXPECT_TRUE(std::includes(grouped.begin(), grouped.end(), along.begin(), along.end()));
  for (const StepIndex step : grouped) {
    EXPECT_EQ(before[step] < before[moved], after[step] < after[moved]) << "it came along";
    EXPECT_NE(step, moved);
  }
  if (passed > 0 && !grouped.empty()) {
    EXPECT_FALSE(along.empty());
  }
}

TEST(Iterative, says_who_was_passed_and_who_came_along) {
  int moves = 0, with_others = 0;
  for (std::uint64_t seed = 0; seed < 120; ++seed) {
    SCOPED_TRACE(fmt::format("seed {}", seed));
    Random random(seed);
    const Graph graph = random_graph(seed);
    std::vector<Nanoseconds> times(graph.size());
    for (Nanoseconds& time : times) time = Nanoseconds::from_picoseconds(random.between(0, 40));
    const auto steps = StepGraph::of(graph, times);
    ASSERT_TRUE(steps);
    for (const StepIndex collective : steps->collectives()) {
      if (steps->first_wait(collective) == no_step) continue;
      const IterativeOptions options = {.memory_budget = 1, .use_estimates = random.chance(50), .only = collective};
      const auto is_it = [&](const CollectiveMove& move) { return move.collective == collective; };
      const auto raised = reorder_communication_preserving_peak_memory(*steps, steps->original_order(), options);
      const auto raise = std::find_if(raised.moves.begin(), raised.moves.end(), is_it);
      ASSERT_NE(raise, raised.moves.end());
      expect_said(*steps, raised, *raise, collective, Direction::earlier);
      moves += raise->passed > 0 ? 1 : 0;
      with_others += raise->grouped.empty() ? 0 : 1;
    }
  }
  EXPECT_GT(moves, 100);
  EXPECT_GT(with_others, 20);
}

// One pass over all collectives is a pass over each of them, one after the other.
TEST(Iterative, moves_all_as_it_would_move_one_after_the_other) {
  int moved = 0;
  for (std::uint64_t seed = 0; seed < 120; ++seed) {
    SCOPED_TRACE(fmt::format("seed {}", seed));
    Random random(seed);
    const Graph graph = random_graph(seed);
    std::vector<Nanoseconds> times(graph.size());
    for (Nanoseconds& time : times) time = Nanoseconds::from_picoseconds(random.between(0, 400));
    const auto steps = StepGraph::of(graph, times);
    ASSERT_TRUE(steps);
    IterativeOptions options;
    options.memory_limit = memory_curve(*steps, steps->original_order()).peak + Bytes(random.between(0, 4096));
    const auto all = reorder_communication_preserving_peak_memory(*steps, steps->original_order(), options);
    std::vector<StepIndex> order = steps->original_order();
    for (const StepIndex collective : steps->collectives()) {
      options.only = collective;
      order = reorder_communication_preserving_peak_memory(*steps, order, options).order;
    }
    EXPECT_EQ(all.order, order);
    moved += order != steps->original_order() ? 1 : 0;
  }
  EXPECT_GT(moved, 25);
}

}  // namespace
}  // namespace hocket
