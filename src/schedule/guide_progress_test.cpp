// Which collectives take memory before it is needed.
#include "schedule/guide_progress.h"

#include <gtest/gtest.h>

#include "hocket/ir/text.h"
#include "support/estimated_steps.h"

namespace hocket::overlap {
namespace {

// A gradient is cast to twice its size right before it is reduced and scattered; a parameter is gathered.
constexpr const char* program_text = R"(graph @g(%x: bf16[4096], %shard: bf16[4096]) {
  group @dp = ranks[0,1]
  %gather = _c10d_functional.all_gather_into_tensor(%shard, 2, @dp) {est=1ms}
  %grad = aten.neg(%x) {est=1ms}
  %cast = prims.convert_element_type(%grad, f32) {est=0.001ms}
  %scatter = _c10d_functional.reduce_scatter_tensor(%cast, "sum", 2, @dp) {est=1ms}
  %scattered = _c10d_functional.wait_tensor(%scatter)
  %gathered = _c10d_functional.wait_tensor(%gather)
  %used = aten.neg(%gathered) {est=1ms}
  return %scattered, %used
}
)";

TEST(GuideProgress, what_a_collective_makes_only_for_itself_is_nothing_that_it_takes) {
  const auto graph = parse_graph(program_text, "test");
  ASSERT_TRUE(graph);
  const StepGraph steps = estimated_steps(*graph);
  const OverlapOptions options;
  const UnitGraph units(steps, UnitGraph::grouping(steps, options), options, {});
  const auto unit = [&](std::string_view name) {
    for (StepIndex step = 0; step < steps.size(); ++step) {
      if (steps.name(step) == name) return units.unit_of(step);
    }
    return no_unit;
  };
  ASSERT_EQ(unit("cast"), unit("scatter")) << "the cast runs right before the collective";
  GuideProgress progress(units);
  progress.reset(units.order_of(steps.original_order()));
  EXPECT_EQ(progress.need(unit("scatter")), 0) << "it gives half of what it reads";
  EXPECT_GT(progress.need(unit("gather")), 0) << "it gives twice what it reads";
}

}  // namespace
}  // namespace hocket::overlap
