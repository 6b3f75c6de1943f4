// Bounds of programs that are so small that the optimum is plain.
#include "hocket/schedule/bounds.h"

#include <gtest/gtest.h>

#include "hocket/cost/cost_model.h"
#include "hocket/ir/text.h"

namespace hocket {
namespace {

StepBound bound_of(const std::string& body) {
  const auto graph = parse_graph("graph @g(%x: f32[4]) {\n  group @dp = ranks[0,1]\n" + body + "}\n", "test");
  EXPECT_TRUE(graph) << graph.error().to_string();
  const auto steps = StepGraph::of(*graph, CostModel(CostOptions()).times(*graph), {.keep_collective_order = false});
  EXPECT_TRUE(steps) << steps.error().to_string();
  return step_bound(*steps);
}

// Two sums of 10 µs follow from each other; 4 µs are independent of both, 3 µs before, between and behind them are not.
TEST(StepBound, counts_what_cannot_be_computed_beside_collectives_that_follow_from_each_other) {
  const StepBound bound = bound_of(R"(
    %a = aten.neg(%x) {est=0.003ms}
    %s = _c10d_functional.all_reduce(%a, "sum", @dp) {est=0.01ms}
    %ws = _c10d_functional.wait_tensor(%s)
    %b = aten.neg(%ws) {est=0.003ms}
    %t = _c10d_functional.all_reduce(%b, "sum", @dp) {est=0.01ms}
    %wt = _c10d_functional.wait_tensor(%t)
    %c = aten.neg(%wt) {est=0.003ms}
    %free = aten.relu(%a) {est=0.004ms}
    %late = aten.relu(%wt) {est=0.005ms}
    %early = aten.relu(%x) {est=0.002ms}
    %need = aten.add.Tensor(%early, %a) {est=0.0ms}
    %u = _c10d_functional.all_reduce(%need, "sum", @dp) {est=0.0ms}
    %wu = _c10d_functional.wait_tensor(%u)
    return %c, %free, %late, %wu
)");
  // 3 + 10 + 3 + 10 + 3 + 5: `free` and `early` are computed beside the sums, `late` is not.
  EXPECT_EQ(bound.kind, BoundKind::serial) << to_string(bound);
  EXPECT_EQ(bound.time, Nanoseconds::from_ns(34'000));
}

// All of 10 + 2 + 3 µs is computed. The sum of 8 µs needs the first of them; beside it run the 3 µs, whose own sum takes 1 µs, and not the 2 µs,
// whose sum takes longer than they do.
TEST(StepBound, counts_what_is_communicated_last) {
  const StepBound bound = bound_of(R"(
    %chain = aten.neg(%x) {est=0.01ms}
    %short = aten.relu(%x) {est=0.002ms}
    %long = aten.relu(%x) {est=0.003ms}
    %a = _c10d_functional.all_reduce(%chain, "sum", @dp) {est=0.008ms}
    %b = _c10d_functional.all_reduce(%short, "sum", @dp) {est=0.005ms}
    %c = _c10d_functional.all_reduce(%long, "sum", @dp) {est=0.001ms}
    %wa = _c10d_functional.wait_tensor(%a)
    %wb = _c10d_functional.wait_tensor(%b)
    %wc = _c10d_functional.wait_tensor(%c)
    return %wa, %wb, %wc
)");
  EXPECT_EQ(bound.kind, BoundKind::last) << to_string(bound);
  EXPECT_EQ(bound.time, Nanoseconds::from_ns(21'000));  // 12 + 8 + 1
}

// Three sums of 10 µs that depend on nothing: one after the other they take 30 µs, together what the class says.
TEST(MergedBound, takes_all_of_a_class_for_one_collective) {
  const auto graph = parse_graph(R"(graph @g(%x: f32[4], %y: f32[4], %z: f32[4]) {
    group @dp = ranks[0,1]
    %a = _c10d_functional.all_reduce(%x, "sum", @dp) {est=0.01ms}
    %b = _c10d_functional.all_reduce(%y, "sum", @dp) {est=0.01ms}
    %c = _c10d_functional.all_reduce(%z, "sum", @dp) {est=0.01ms}
    %wa = _c10d_functional.wait_tensor(%a)
    %wb = _c10d_functional.wait_tensor(%b)
    %wc = _c10d_functional.wait_tensor(%c)
    return %wa, %wb, %wc
  })",
                                 "test");
  ASSERT_TRUE(graph) << graph.error().to_string();
  const auto steps = StepGraph::of(*graph, CostModel(CostOptions()).times(*graph), {.keep_collective_order = false});
  ASSERT_TRUE(steps);
  OverlapOptions options;
  options.classes.push_back(
      {[](Bytes moved) { return Nanoseconds::from_ns(9'000 + static_cast<double>(moved.count)); }});
  for (const StepIndex collective : steps->collectives()) options.candidates.push_back({collective, 0, Bytes(1'000)});
  EXPECT_EQ(step_bound(*steps).time, Nanoseconds::from_ns(30'000));
  EXPECT_EQ(merged_bound(*steps, options).time, Nanoseconds::from_ns(12'000));
}

TEST(StepBound, names_the_plainest_of_equal_bounds) {
  const StepBound bound = bound_of("  %a = aten.neg(%x) {est=0.003ms}\n  return %a\n");
  EXPECT_EQ(bound.kind, BoundKind::compute);
  EXPECT_EQ(bound.time, Nanoseconds::from_ns(3'000));
}

}  // namespace
}  // namespace hocket
