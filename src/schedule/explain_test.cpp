#include "hocket/schedule/explain.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "hocket/ir/text.h"
#include "hocket/schedule/overlap_report.h"

namespace hocket {
namespace {

using testing::HasSubstr;

struct Example {
  Graph graph;
  std::vector<Nanoseconds> times;
  StepGraph steps, free_order;

  explicit Example(std::string_view text) : graph(*parse_graph(text, "test")) {
    for (std::size_t i = 0; i < graph.size(); ++i) times.push_back(graph.estimate(NodeId(i)).value_or(Nanoseconds()));
    steps = *StepGraph::of(graph, times);
    free_order = *StepGraph::of(graph, times, {.keep_collective_order = false});
  }
  StepIndex step(std::string_view name) const { return graph.find(name)->value; }
  std::string why(std::string_view collective, Bytes limit = Bytes()) const {
    const auto order = steps.original_order();
    return in_words(explain(steps, free_order, order, step(collective), limit), steps);
  }
};

constexpr std::string_view gather_behind_matmuls = R"(graph @g(%x: f32[64,64], %p: f32[31,64]) {
  group @dp = ranks[0,1]
  %m1 = aten.mm(%x, %x) {est=0.02ms}
  %m2 = aten.mm(%m1, %m1) {est=0.02ms}
  %m3 = aten.sum(%m2) {est=0.02ms}
  %all = _c10d_functional.all_gather_into_tensor(%p, 2, @dp) {est=0.06ms}
  %done = _c10d_functional.wait_tensor(%all)
  %s = aten.sum(%done) {est=0.001ms}
  return %s, %m3
})";

TEST(Explain, says_when_a_collective_runs_and_how_long_it_is_exposed) {
  const std::string why = Example(gather_behind_matmuls).why("all");
  EXPECT_THAT(why, HasSubstr("all takes 60.00 µs on @dp: issued at 60.00 µs, done at 120.00 µs."));
  EXPECT_THAT(why, HasSubstr("Its wait comes at 60.00 µs: the compute lane stands still for 60.00 µs of 121.00 µs"));
}

TEST(Explain, says_how_much_memory_would_help) {
  // Passing m2 would hold m1, m2 and the gathered tensor at once.
  const std::string why = Example(gather_behind_matmuls).why("all");
  EXPECT_THAT(why, HasSubstr("then memory is in the way"));
  EXPECT_THAT(why, HasSubstr("more memory"));
  EXPECT_THAT(why, HasSubstr("exposed 0 ns instead of 60.00 µs"));
}

TEST(Explain, names_the_dependency_that_is_in_the_way) {
  const std::string why = Example(R"(graph @g(%x: f32[4,4]) {
    group @dp = ranks[0,1]
    %m1 = aten.mm(%x, %x) {est=0.02ms}
    %sum = _c10d_functional.all_reduce(%m1, "sum", @dp) {est=0.02ms}
    %done = _c10d_functional.wait_tensor(%sum)
    %m2 = aten.mm(%done, %x) {est=0.02ms}
    return %m2
  })")
                              .why("sum");
  EXPECT_THAT(why, HasSubstr("Start it earlier: it cannot move; then m1 is in the way, which it depends on."));
  EXPECT_THAT(why, HasSubstr("Wait for it later: it cannot move; then m2 is in the way, which depends on it."));
}

TEST(Explain, names_the_order_of_collectives_and_what_another_would_bring) {
  const std::string why = Example(R"(graph @g(%x: f32[4,4], %y: f32[4,4]) {
    group @dp = ranks[0,1]
    %m1 = aten.mm(%x, %x) {est=0.04ms}
    %first = _c10d_functional.all_reduce(%m1, "sum", @dp) {est=0.01ms}
    %second = _c10d_functional.all_reduce(%y, "sum", @dp) {est=0.02ms}
    %done = _c10d_functional.wait_tensor(%second)
    %m2 = aten.mm(%done, %x) {est=0.02ms}
    %too = _c10d_functional.wait_tensor(%first)
    return %m2, %too
  })")
                              .why("second", Bytes(1 << 20));
  EXPECT_THAT(why, HasSubstr("begun at 50.00 µs when first was done"));
  EXPECT_THAT(
      why, HasSubstr(
               "If all ranks agree on another order of the collectives of @dp it can move past 2 steps: exposed 0 ns"));
}

TEST(Explain, says_so_where_a_collective_is_hidden) {
  EXPECT_THAT(Example(R"(graph @g(%x: f32[4,4]) {
    group @dp = ranks[0,1]
    %sum = _c10d_functional.all_reduce(%x, "sum", @dp) {est=0.01ms}
    %m1 = aten.mm(%x, %x) {est=0.02ms}
    %done = _c10d_functional.wait_tensor(%sum)
    return %m1, %done
  })")
                  .why("sum"),
              HasSubstr("it is hidden, the compute lane never stands still for it"));
}

TEST(OverlapReport, tells_hidden_time_from_exposed_time) {
  const Example e(gather_behind_matmuls);
  const auto order = e.steps.original_order();
  const IterativeResult raised = reorder_communication_preserving_peak_memory(e.steps, order, {.memory_budget = 0.0});
  const auto was = exposed_times(e.steps, order);
  const OverlapReport report = overlap_report(
      e.steps, raised.order, [&](std::string_view name) { return std::optional(was[e.step(name)]); }, &raised);
  ASSERT_EQ(report.collectives.size(), 1U);
  EXPECT_EQ(report.collectives[0].overlapped, Nanoseconds::from_ns(20'000));
  EXPECT_EQ(report.collectives[0].exposed_after, Nanoseconds::from_ns(40'000));
  EXPECT_EQ(report.collectives[0].exposed_before, Nanoseconds::from_ns(60'000));
  const std::string table = table_of(report, e.steps);
  EXPECT_THAT(
      table,
      HasSubstr("all         @dp        60.00 µs   20.00 µs   40.00 µs   60.00 µs       1       0       0  memory"));
}

TEST(VisualizeOverlap, indents_what_runs_under_a_collective) {
  const Example e(R"(graph @g(%x: f32[4,4]) {
    group @dp = ranks[0,1]
    %sum = _c10d_functional.all_reduce(%x, "sum", @dp) {est=0.03ms}
    %m1 = aten.mm(%x, %x) {est=0.02ms}
    %done = _c10d_functional.wait_tensor(%sum)
    %m2 = aten.mm(%done, %m1) {est=0.02ms}
    return %m2
  })");
  EXPECT_EQ(visualize_overlap(e.steps, e.steps.original_order()),
            "sum  30.00 µs on @dp\n"
            "  m1  20.00 µs\n"
            "done  for sum, exposed 10.00 µs\n"
            "m2  20.00 µs\n");
}

}  // namespace
}  // namespace hocket
