// The passes that build an order from the front: behaviours, and validity on random graphs and programs.
#include "hocket/schedule/list_passes.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "hocket/ir/text.h"
#include "hocket/ir/verify.h"
#include "hocket/schedule/iterative.h"
#include "support/random.h"
#include "support/random_graph.h"
#include "support/random_program.h"

namespace hocket {
namespace {

std::vector<Nanoseconds> random_times(std::uint64_t seed, std::size_t count) {
  Random random(seed);
  std::vector<Nanoseconds> times(count);
  for (Nanoseconds& time : times) time = Nanoseconds::from_picoseconds(random.chance(25) ? 0 : random.between(1, 1000));
  return times;
}

using Reorder = std::vector<StepIndex> (*)(const StepGraph&, std::span<const StepIndex>);

std::vector<StepIndex> raise_iteratively(const StepGraph& steps, std::span<const StepIndex> order) {
  return reorder_communication_preserving_peak_memory(steps, {order.begin(), order.end()}, {.memory_budget = 0.1})
      .order;
}
std::vector<StepIndex> raise_without_estimates(const StepGraph& steps, std::span<const StepIndex> order) {
  return reorder_communication_preserving_peak_memory(steps, {order.begin(), order.end()}, {.use_estimates = false})
      .order;
}
std::vector<StepIndex> sink_iteratively(const StepGraph& steps, std::span<const StepIndex> order) {
  return sink_waits_iterative(steps, {order.begin(), order.end()}, {.memory_budget = 0.1}).order;
}
std::vector<StepIndex> sink_without_estimates(const StepGraph& steps, std::span<const StepIndex> order) {
  return sink_waits_iterative(steps, {order.begin(), order.end()}, {.use_estimates = false}).order;
}

constexpr Reorder reorders[] = {sink_waits,
                                raise_comms,
                                reorder_compute_for_overlap,
                                raise_iteratively,
                                sink_iteratively,
                                raise_without_estimates,
                                sink_without_estimates};

template <class IdOf, class Form>
void expect_valid(const Form& form, std::uint64_t seed) {
  const auto steps = StepGraph::of(form, random_times(seed, form.size()));
  ASSERT_TRUE(steps) << steps.error().to_string();
  const auto original = steps->original_order();
  for (std::size_t i = 0; i < std::size(reorders); ++i) {
    const auto order = reorders[i](*steps, original);
    ASSERT_EQ(reorders[i](*steps, original), order) << "pass " << i << " is not deterministic";
    std::vector<IdOf> ids;
    for (const StepIndex step : order) ids.emplace_back(step);
    const auto problems = verify_order(form, ids);
    ASSERT_TRUE(problems.empty()) << "pass " << i << ": " << problems.front().to_string() << "\n" << print(form);
    if (i >= 3) {
      const Bytes limit = i == 3 || i == 4 ? Bytes(memory_curve(*steps, original).peak.count * 11 / 10)
                                           : memory_curve(*steps, original).peak;
      ASSERT_LE(memory_curve(*steps, order).peak, limit) << "pass " << i;
    }
  }
}

TEST(Reordering, keeps_random_graphs_valid_and_within_the_limit) {
  for (std::uint64_t seed = 0; seed < 400; ++seed) {
    SCOPED_TRACE(fmt::format("seed {}", seed));
    ASSERT_NO_FATAL_FAILURE((expect_valid<NodeId>(random_graph(seed), seed)));
  }
}

TEST(Reordering, keeps_random_programs_valid_and_within_the_limit) {
  for (std::uint64_t seed = 0; seed < 400; ++seed) {
    SCOPED_TRACE(fmt::format("seed {}", seed));
    ASSERT_NO_FATAL_FAILURE((expect_valid<StepId>(random_program(seed), seed)));
  }
}

// ---------------------------------------------------------------- behaviours

struct Example {
  Graph graph;
  StepGraph steps;
};

// Nodes %mm… take 10 ns, collectives 20 ns, everything else nothing.
Example example(std::string_view text) {
  auto graph = parse_graph(text, "test");
  EXPECT_TRUE(graph) << graph.error().to_string();
  std::vector<Nanoseconds> times(graph->size());
  for (std::size_t i = 0; i < times.size(); ++i) {
    if (graph->name(NodeId(i)).starts_with("mm")) times[i] = Nanoseconds::from_ns(10);
    if (graph->collective(NodeId(i)) != nullptr) times[i] = Nanoseconds::from_ns(20);
  }
  auto steps = StepGraph::of(*graph, times);
  EXPECT_TRUE(steps) << steps.error().to_string();
  return {std::move(*graph), std::move(*steps)};
}

std::string names(const StepGraph& steps, const std::vector<StepIndex>& order) {
  std::string text;
  for (const StepIndex step : order) {
    if (steps.kind(step) != StepKind::fixed) text += (text.empty() ? "" : " ") + std::string(steps.name(step));
  }
  return text;
}

constexpr std::string_view two_sums = R"(graph @g(%x: f32[4,4]) {
  group @dp = ranks[0,1]
  %a = aten.neg(%x)
  %sum_a = _c10d_functional.all_reduce(%a, "sum", @dp)
  %done_a = _c10d_functional.wait_tensor(%sum_a)
  %mm_1 = aten.mm(%x, %x)
  %mm_2 = aten.mm(%mm_1, %x)
  %b = aten.neg(%mm_1)
  %sum_b = _c10d_functional.all_reduce(%b, "sum", @dp)
  %done_b = _c10d_functional.wait_tensor(%sum_b)
  %mm_3 = aten.mm(%x, %mm_2)
  return %done_a, %done_b, %mm_3
})";

TEST(SinkWaits, puts_waits_behind_everything_that_does_not_need_them) {
  const Example e = example(two_sums);
  EXPECT_EQ(names(e.steps, sink_waits(e.steps, e.steps.original_order())),
            "a sum_a mm_1 mm_2 b sum_b mm_3 done_a done_b");
}

TEST(RaiseComms, takes_what_leads_to_the_first_collective_first) {
  const Example e = example(two_sums);
  EXPECT_EQ(names(e.steps, raise_comms(e.steps, e.steps.original_order())),
            "a sum_a mm_1 b sum_b done_a mm_2 done_b mm_3");
}

TEST(ReorderComputeForOverlap, covers_a_collective_with_what_the_next_one_needs_then_with_other_compute) {
  const Example e = example(two_sums);
  // sum_a takes 20: mm_1 and b (for sum_b), then mm_2, which covers it; then sum_b.
  EXPECT_EQ(names(e.steps, reorder_compute_for_overlap(e.steps, e.steps.original_order())),
            "a sum_a mm_1 b mm_2 sum_b mm_3 done_a done_b");
}

TEST(ReorderCommunication, moves_a_collective_with_what_it_needs_until_it_is_hidden) {
  const Example e = example(two_sums);
  const IterativeResult result =
      reorder_communication_preserving_peak_memory(e.steps, e.steps.original_order(), {.memory_budget = 10});
  EXPECT_EQ(names(e.steps, result.order), "a sum_a done_a mm_1 b sum_b mm_2 done_b mm_3");
  ASSERT_EQ(result.moves.size(), 2U);
  EXPECT_EQ(result.moves[0].limit, Limit::end_of_program);  // it takes a along, and there is nothing before that
  EXPECT_EQ(result.moves[1].passed, 1U);
  EXPECT_EQ(result.moves[1].grouped.size(), 1U);
  EXPECT_EQ(result.moves[1].limit, Limit::dependency);
  EXPECT_EQ(e.steps.name(result.moves[1].step), "mm_1");
}

TEST(ReorderCommunication, keeps_the_memory_limit_and_names_it) {
  // Passing mm_2 would hold the result of the collective while mm_2's arguments live.
  const Example e = example(two_sums);
  const IterativeResult result = reorder_communication_preserving_peak_memory(e.steps, e.steps.original_order());
  EXPECT_LE(memory_curve(e.steps, result.order).peak, memory_curve(e.steps, e.steps.original_order()).peak);
}

TEST(SinkWaitsIterative, moves_a_wait_until_its_collective_is_hidden) {
  const Example e = example(two_sums);
  const IterativeResult result = sink_waits_iterative(e.steps, e.steps.original_order(), {.memory_budget = 10});
  // 20 are hidden behind mm_1 and mm_2; the wait for sum_b goes to the end.
  EXPECT_EQ(names(e.steps, result.order), "a sum_a mm_1 mm_2 done_a b sum_b mm_3 done_b");
  EXPECT_EQ(result.moves[0].limit, Limit::hidden);
  EXPECT_EQ(result.moves[1].limit, Limit::end_of_program);
}

TEST(IterativePasses, stop_at_their_limits_on_moves) {
  const Example e = example(two_sums);
  const IterativeResult none =
      sink_waits_iterative(e.steps, e.steps.original_order(), {.memory_budget = 10, .max_moves = 0});
  EXPECT_EQ(none.order, e.steps.original_order());
  EXPECT_EQ(none.moves[0].limit, Limit::move_limit);
  const IterativeResult one =
      sink_waits_iterative(e.steps, e.steps.original_order(), {.memory_budget = 10, .max_passes_each = 1});
  EXPECT_EQ(names(e.steps, one.order), "a sum_a mm_1 done_a mm_2 b sum_b mm_3 done_b");
}

TEST(IterativePasses, may_reorder_collectives_only_when_told) {
  constexpr std::string_view text = R"(graph @g(%x: f32[4,4], %y: f32[4,4]) {
    group @dp = ranks[0,1]
    %mm_1 = aten.mm(%x, %x)
    %mm_2 = aten.mm(%mm_1, %x)
    %sum_a = _c10d_functional.all_reduce(%mm_2, "sum", @dp)
    %sum_b = _c10d_functional.all_reduce(%y, "sum", @dp)
    %done_b = _c10d_functional.wait_tensor(%sum_b)
    %mm_3 = aten.mm(%done_b, %y)
    %mm_4 = aten.mm(%mm_3, %y)
    %mm_5 = aten.mm(%mm_4, %y)
    %mm_6 = aten.mm(%mm_5, %y)
    %done_a = _c10d_functional.wait_tensor(%sum_a)
    return %done_a, %mm_6
  })";
  const Example kept = example(text);
  EXPECT_EQ(reorder_communication_preserving_peak_memory(kept.steps, kept.steps.original_order(), {.memory_budget = 10})
                .order,
            kept.steps.original_order());
  std::vector<Nanoseconds> times;
  for (StepIndex step = 0; step < kept.steps.size(); ++step) times.push_back(kept.steps.time(step));
  const auto free_steps = *StepGraph::of(kept.graph, times, {.keep_collective_order = false});
  const auto order = reorder_communication_preserving_peak_memory(free_steps, free_steps.original_order(),
                                                                  {.memory_budget = 10, .reorder_collectives = true})
                         .order;
  EXPECT_EQ(names(free_steps, order), "sum_b mm_1 mm_2 sum_a done_b mm_3 mm_4 mm_5 mm_6 done_a");
  EXPECT_LT(timeline(free_steps, order).step_time, timeline(free_steps, free_steps.original_order()).step_time);
}

}  // namespace
}  // namespace hocket
