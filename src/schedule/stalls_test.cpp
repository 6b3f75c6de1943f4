// Who makes the compute lane stand still.
#include "schedule/stalls.h"

#include <gtest/gtest.h>

#include <map>

#include "hocket/ir/text.h"
#include "schedule/polish.h"
#include "support/estimated_steps.h"

namespace hocket::overlap {
namespace {

// `alone` ends before anything else is issued; `first`, `second` and `third` queue on the same lane, and only `third` is awaited at once.
constexpr const char* program_text = R"(graph @g(%x: f32[64]) {
  group @dp = ranks[0,1]
  %alone = _c10d_functional.all_reduce(%x, "sum", @dp) {est=0.001ms}
  %a = aten.neg(%x) {est=0.01ms}
  %first = _c10d_functional.all_reduce(%a, "sum", @dp) {est=0.02ms}
  %second = _c10d_functional.all_reduce(%a, "sum", @dp) {est=0.03ms}
  %third = _c10d_functional.all_reduce(%a, "sum", @dp) {est=0.01ms}
  %third_done = _c10d_functional.wait_tensor(%third)
  %alone_done = _c10d_functional.wait_tensor(%alone)
  %first_done = _c10d_functional.wait_tensor(%first)
  %second_done = _c10d_functional.wait_tensor(%second)
  return %alone_done, %first_done, %second_done, %third_done
}
)";

TEST(Stalls, are_shared_by_all_that_kept_the_lane_busy_since_it_was_last_idle) {
  const auto graph = parse_graph(program_text, "test");
  ASSERT_TRUE(graph);
  const StepGraph steps = estimated_steps(*graph);
  const OverlapOptions options;
  const UnitGraph units(steps, UnitGraph::grouping(steps, options), options, {});
  MadeOrder made;
  made.order = units.order_of(steps.original_order());
  made.time = two_lane_time(units, made);
  std::map<std::string, Time> times;
  for (const Stall& stall : stalls_of(steps, units, made))
    times[std::string(steps.name(stall.collective))] += stall.time;
  // It stands still from 10 µs to 70 µs.
  const std::map<std::string, Time> expected = {{"third", 60'000'000}, {"first", 30'000'000}, {"second", 30'000'000}};
  EXPECT_EQ(times, expected);
}

}  // namespace
}  // namespace hocket::overlap
