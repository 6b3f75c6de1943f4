// Orders made from the front, on a program small enough to see all of it.
#include "schedule/order_maker.h"

#include <gtest/gtest.h>

#include <map>
#include <optional>

#include "hocket/ir/text.h"
#include "schedule/urgency.h"
#include "support/estimated_steps.h"

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
    steps_ = estimated_steps(graph_);
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

// Eight gradients of one class, one after the other, each of them sent for as long as four take to compute; a bucket takes no longer than
// one of them.
class BucketsTest : public testing::Test {
 protected:
  static constexpr int gradients = 8;

  BucketsTest() : graph_(*parse_graph(text(), "test")) {
    steps_ = estimated_steps(graph_);
    options_.classes.push_back({[](Bytes) { return Nanoseconds::from_picoseconds(4'000'000); }});
    for (const StepIndex collective : steps_->collectives()) options_.candidates.push_back({collective, 0, Bytes(1)});
    units_.emplace(*steps_, UnitGraph::grouping(*steps_, options_), options_, Buckets{});
  }

  static std::string text() {
    std::string lines = "graph @g(%x: f32[64,64]) {\n  group @dp = ranks[0,1]\n", waits, results;
    for (int i = 0; i < gradients; ++i) {
      const std::string n = std::to_string(i);
      lines += "  %g" + n + " = aten.mm(%" + (i == 0 ? "x" : "g" + std::to_string(i - 1)) + ", %x) {est=0.001ms}\n";
      lines += "  %s" + n + " = _c10d_functional.all_reduce(%g" + n + ", \"sum\", @dp) {est=0.004ms}\n";
      waits += "  %d" + n + " = _c10d_functional.wait_tensor(%s" + n + ")\n";
      results += (i == 0 ? "%d" : ", %d") + n;
    }
    return lines + waits + "  return " + results + "\n}\n";
  }

  // The members of each bucket, those of one included, in the order of issue.
  std::vector<std::size_t> sizes(bool taper, Size hold, Size parts) const {
    std::vector<Time> priority(units_->size());
    for (UnitIndex u = 0; u < units_->size(); ++u) priority[u] = u;
    Recipe recipe;
    recipe.priority = &priority;
    recipe.limit = std::numeric_limits<Size>::max() / 4;
    recipe.bucket = {gradients};
    recipe.hold = {hold};
    recipe.ramp = {0};
    recipe.taper = {taper};
    recipe.parts = {parts};
    const MadeOrder made = OrderMaker(*units_).make(units_->order_of(steps_->original_order()), recipe);
    std::map<Time, std::size_t> by_end;
    for (UnitIndex u = 0; u < units_->size(); ++u) {
      if (units_->unit(u).kind == StepKind::collective) ++by_end[made.end[u]];
    }
    std::vector<std::size_t> list;
    for (const auto& [end, members] : by_end) list.push_back(members);
    return list;
  }

  Graph graph_;
  OverlapOptions options_;
  std::optional<StepGraph> steps_;
  std::optional<UnitGraph> units_;
};

TEST_F(BucketsTest, what_tapers_sends_all_that_is_left_once_nothing_more_is_to_come) {
  const auto list = sizes(true, 0, 2);
  ASSERT_GE(list.size(), 3U);
  EXPECT_LE(list[1], 7U / 3) << "a third of what is left";
  EXPECT_GT(list.back(), 2U) << "nothing is gained by sending a third of it first";
}

TEST_F(BucketsTest, holds_back_no_more_than_a_part_of_what_is_left) {
  EXPECT_EQ(sizes(false, gradients, 2).front(), 4U);
  EXPECT_EQ(sizes(false, gradients, 4).front(), 2U);
  EXPECT_EQ(sizes(false, gradients, 8).front(), 1U);
}

// `urgent` is communicated 0.1 ms from the beginning; before that the lane would be busy with `other`.
constexpr const char* one_lane_text = R"(graph @g(%x: f32[64,64]) {
  group @dp = ranks[0,1]
  %other = _c10d_functional.all_reduce(%x, "sum", @dp) {est=1ms}
  %other_done = _c10d_functional.wait_tensor(%other)
  %a = aten.mm(%x, %x) {est=0.1ms}
  %urgent = _c10d_functional.all_reduce(%a, "sum", @dp) {est=1ms}
  %urgent_done = _c10d_functional.wait_tensor(%urgent)
  %b = aten.mm(%urgent_done, %x) {est=3ms}
  %c = aten.mm(%other_done, %x) {est=0.1ms}
  return %b, %c
}
)";

TEST(OrderMaker, keeps_a_lane_clear_for_what_is_urgent_and_soon_ready) {
  const Graph graph = *parse_graph(one_lane_text, "test");
  const StepGraph steps = estimated_steps(graph);
  const OverlapOptions options;
  const UnitGraph units(steps, UnitGraph::grouping(steps, options), options, Buckets{});
  const std::vector<UnitIndex> guide = units.order_of(steps.original_order());
  const std::vector<Time> priority = latest_starts(units, guide, comm_times(units, {}), false);
  Recipe recipe;
  recipe.priority = &priority;
  recipe.limit = std::numeric_limits<Size>::max() / 4;
  EXPECT_EQ(OrderMaker(units).make(guide, recipe).time, 5'000'000'000) << "1 + 1 + 3 ms";
  recipe.clear = true;
  EXPECT_EQ(OrderMaker(units).make(guide, recipe).time, 4'200'000'000) << "0.1 + 1 + 3 + 0.1 ms";
}

}  // namespace
}  // namespace hocket::overlap
