// Orders made from the front, on a program small enough to see all of it.
#include "schedule/order_maker.h"

#include <gtest/gtest.h>

#include <map>
#include <optional>

#include "hocket/cost/cost_model.h"
#include "hocket/ir/text.h"

namespace hocket::overlap {
namespace {

// A chain with a short gap, in which `first` is communicated, and a long one for `second`; beside it a long and a short step that
// can run anywhere.
constexpr const char* program_text = R"(graph @g(%x: f32[64,64]) {
  group @dp = ranks[0,1]
  %long = aten.mm(%x, %x) {est=1.9ms}
  %short = aten.mm(%x, %x) {est=0.15ms}
  %a = aten.mm(%x, %x) {est=0.01ms}
  %first = _c10d_functional.all_reduce(%a, "sum", @dp) {est=0.2ms}
  %first_done = _c10d_functional.wait_tensor(%first)
  %b = aten.mm(%first_done, %x) {est=0.01ms}
  %second = _c10d_functional.all_reduce(%b, "sum", @dp) {est=2ms}
  %second_done = _c10d_functional.wait_tensor(%second)
  %c = aten.mm(%second_done, %x) {est=0.01ms}
  return %long, %short, %c
}
)";

class OrderMakerTest : public testing::Test {
 protected:
  OrderMakerTest() : graph_(*parse_graph(program_text, "test")) {
    steps_ = StepGraph::of(graph_, CostModel(CostOptions()).times(graph_), {.keep_collective_order = false}).value();
    units_.emplace(*steps_, UnitGraph::grouping(*steps_, options_), options_, Buckets{});
    for (StepIndex step = 0; step < steps_->size(); ++step) step_[std::string(steps_->name(step))] = step;
    // The chain is the most urgent; what can run anywhere comes last, the long step before the short one.
    priority_.assign(units_->size(), 0);
    priority_[unit("long")] = 1;
    priority_[unit("short")] = 2;
  }

  UnitIndex unit(const std::string& name) const { return units_->unit_of(step_.at(name)); }

  MadeOrder made(bool fit, double idle) const {
    Recipe recipe;
    recipe.priority = &priority_;
    recipe.limit = std::numeric_limits<Size>::max() / 4;
    recipe.fit = fit;
    recipe.idle = idle;
    return OrderMaker(*units_).make(units_->order_of(steps_->original_order()), recipe);
  }

  static Time us(Time microseconds) { return microseconds * 1'000'000; }

  Graph graph_;
  OverlapOptions options_;
  std::optional<StepGraph> steps_;
  std::optional<UnitGraph> units_;
  std::map<std::string, StepIndex> step_;
  std::vector<Time> priority_;
};

// The long step stands in the short gap, and the long gap has little to cover it.
TEST_F(OrderMakerTest, runs_by_urgency_where_nothing_else_is_asked_for) { EXPECT_EQ(made(false, 0).time, us(3930)); }

TEST_F(OrderMakerTest, a_gap_is_filled_with_what_fits_first) {
  const MadeOrder order = made(true, 0);
  EXPECT_EQ(order.begin[unit("short")], us(10));
  EXPECT_EQ(order.begin[unit("long")], us(160)) << "the lane does not stand still while there is something to run";
}

// 10 + 200 (150 of them covered) + 10 + 2000 (1900 of them covered) + 10
TEST_F(OrderMakerTest, what_does_not_fit_by_far_waits_for_a_longer_gap) {
  const MadeOrder order = made(true, 4);
  EXPECT_EQ(order.begin[unit("short")], us(10));
  EXPECT_EQ(order.begin[unit("long")], us(220));
  EXPECT_EQ(order.time, us(2230));
}

}  // namespace
}  // namespace hocket::overlap
