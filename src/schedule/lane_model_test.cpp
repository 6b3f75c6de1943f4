#include "hocket/schedule/lane_model.h"

#include <gtest/gtest.h>

#include <map>

#include "hocket/ir/text.h"
#include "hocket/schedule/overlap.h"
#include "hocket/schedule/timeline.h"
#include "support/random_graph.h"

namespace hocket {
namespace {

Nanoseconds ns(double value) { return Nanoseconds::from_ns(value); }
LaneEvent compute(double time) { return {LaneEvent::Kind::compute, 0, 0, ns(time)}; }
LaneEvent issue(std::uint32_t lane, std::uint32_t collective, double time) {
  return {LaneEvent::Kind::issue, lane, collective, ns(time)};
}
LaneEvent wait(std::uint32_t collective) { return {LaneEvent::Kind::wait, 0, collective, {}}; }

TEST(LaneModel, is_the_two_lane_model_where_nothing_is_shared) {
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    const Graph graph = random_graph(seed);
    std::vector<Nanoseconds> times;
    for (std::size_t i = 0; i < graph.size(); ++i)
      times.push_back(Nanoseconds::from_picoseconds(1000 * ((i * 7919 + seed) % 50)));
    const auto steps = StepGraph::of(graph, times);
    ASSERT_TRUE(steps) << steps.error().to_string();
    const auto order = steps->original_order();
    EXPECT_NEAR(modelled_step_time(*steps, order, {}).ns(), timeline(*steps, order).step_time.ns(), 0.01)
        << "seed " << seed;
  }
}

TEST(LaneModel, lanes_with_links_of_their_own_run_at_once) {
  const std::vector<LaneEvent> events = {issue(0, 0, 100), issue(1, 1, 100), wait(0), wait(1)};
  EXPECT_EQ(run_lanes(events, 2, {}), ns(100));
}

TEST(LaneModel, a_shared_link_gives_each_half_its_speed) {
  LaneModel model;
  model.links = {{0}, {0, 1}};
  const std::vector<LaneEvent> events = {issue(0, 0, 100), issue(1, 1, 40), wait(1), compute(10), wait(0)};
  // Both at half speed until the second is done at 80; then 60 of the first are left.
  EXPECT_EQ(run_lanes(events, 2, model), ns(140));
}

TEST(LaneModel, compute_slows_down_only_while_something_is_under_way) {
  LaneModel model;
  model.compute_slowdown = 2;
  const std::vector<LaneEvent> events = {compute(10), issue(0, 0, 20), compute(30), wait(0)};
  // 10, then 20 in which half is done, then the other 20 at full speed.
  EXPECT_EQ(run_lanes(events, 1, model), ns(50));
}

TEST(LaneModel, one_lane_runs_its_collectives_one_after_the_other) {
  const std::vector<LaneEvent> events = {issue(0, 0, 30), issue(0, 1, 30), wait(1)};
  EXPECT_EQ(run_lanes(events, 1, {}), ns(60));
}

// Compute of 10, a view, a sum that takes nothing, and one of 30 beside compute of 5.
TEST(LaneModel, every_step_that_takes_time_is_launched) {
  const auto graph = parse_graph(R"(graph @g(%x: f32[4]) {
  group @dp = ranks[0,1]
  %a = aten.relu(%x)
  %v = aten.view(%a, [2, 2])
  %idle = _c10d_functional.all_reduce(%v, "sum", @dp)
  %idle_done = _c10d_functional.wait_tensor(%idle)
  %sum = _c10d_functional.all_reduce(%a, "sum", @dp)
  %b = aten.relu(%v)
  %done = _c10d_functional.wait_tensor(%sum)
  return %b, %done, %idle_done
})",
                                 "test");
  ASSERT_TRUE(graph) << graph.error().to_string();
  const std::map<std::string_view, double> taken = {{"a", 10}, {"sum", 30}, {"b", 5}};
  std::vector<Nanoseconds> times;
  for (std::size_t i = 0; i < graph->size(); ++i) {
    const auto known = taken.find(graph->name(NodeId(i)));
    times.push_back(known == taken.end() ? Nanoseconds() : ns(known->second));
  }
  const auto steps = StepGraph::of(*graph, times);
  ASSERT_TRUE(steps) << steps.error().to_string();
  LaneModel model;
  model.launch = ns(2);
  EXPECT_EQ(modelled_step_time(*steps, steps->original_order(), model), ns(2 + 10 + 2 + 30));
  EXPECT_EQ(modelled_step_time(*steps, steps->original_order(), {}), ns(10 + 30));
}

}  // namespace
}  // namespace hocket
