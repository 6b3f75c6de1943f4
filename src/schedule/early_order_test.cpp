// What goes in front of the peak, on a program small enough to see all of it.
#include "schedule/early_order.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <optional>

#include "hocket/ir/text.h"
#include "schedule/guide_memory.h"
#include "support/estimated_steps.h"

namespace hocket::overlap {
namespace {

// `big` and `loss` are the peak. Behind it are steps that do not need it: `wide` holds twice as much as the others for the same time.
constexpr const char* program_text = R"(graph @g(%x: f32[64,64], %v: f32[128,64], %w: f32[4096,64], %y: f32[64,4096]) {
  %a = aten.mm(%x, %x) {est=0.1ms}
  %b = aten.mm(%a, %x) {est=0.1ms}
  %big = aten.mm(%w, %b) {est=0.1ms}
  %loss = aten.mm(%y, %big) {est=0.1ms}
  %wide = aten.mm(%v, %a) {est=1ms}
  %second = aten.mm(%b, %x) {est=1ms}
  %first = aten.mm(%a, %x) {est=1ms}
  %of_wide = aten.mm(%wide, %loss) {est=0.1ms}
  %of_second = aten.mm(%second, %loss) {est=0.1ms}
  %of_first = aten.mm(%first, %loss) {est=0.1ms}
  return %a, %b, %of_wide, %of_second, %of_first
}
)";

constexpr Size small = 64 * 64 * 4;  // what `first` and `second` hold

class EarlyOrderTest : public testing::Test {
 protected:
  EarlyOrderTest() : graph_(*parse_graph(program_text, "test")) {
    steps_ = estimated_steps(graph_);
    units_.emplace(*steps_, UnitGraph::grouping(*steps_, options_), options_, Buckets{});
    guide_ = units_->order_of(steps_->original_order());
    for (StepIndex step = 0; step < steps_->size(); ++step) step_[std::string(steps_->name(step))] = step;
  }

  Size peak_of(const std::vector<UnitIndex>& order) const {
    GuideMemory memory(*units_);
    memory.reset(order);
    return memory.guide_peak();
  }

  // The names of what runs before `big` with so much memory above the guide's peak.
  std::vector<std::string> in_front(Size room, Prefer prefer) const {
    const Size limit = peak_of(guide_) + room;
    const auto order = early_order(*units_, guide_, limit, 1, prefer).order;
    EXPECT_EQ(order.size(), guide_.size());
    EXPECT_LE(peak_of(order), limit);
    const auto place = [&](const char* name) {
      return std::find(order.begin(), order.end(), units_->unit_of(step_.at(name))) - order.begin();
    };
    std::vector<std::string> names;
    for (const char* name : {"wide", "second", "first"}) {
      if (place(name) < place("big")) names.emplace_back(name);
    }
    return names;
  }

  using Names = std::vector<std::string>;

  Graph graph_;
  OverlapOptions options_;
  std::optional<StepGraph> steps_;
  std::optional<UnitGraph> units_;
  std::vector<UnitIndex> guide_;
  std::map<std::string, StepIndex> step_;
};

TEST_F(EarlyOrderTest, takes_what_gives_the_most_time_for_its_memory) {
  EXPECT_EQ(in_front(2 * small, Prefer::soon_needed), (Names{"second", "first"}));
}

TEST_F(EarlyOrderTest, takes_all_where_there_is_room_and_nothing_where_there_is_none) {
  EXPECT_EQ(in_front(4 * small, Prefer::soon_needed), (Names{"wide", "second", "first"}));
  EXPECT_EQ(in_front(0, Prefer::soon_needed), Names{});
  EXPECT_EQ(early_order(*units_, guide_, peak_of(guide_), 1, Prefer::soon_ready).order, guide_);
}

TEST_F(EarlyOrderTest, of_equal_ones_takes_what_is_needed_or_ready_first) {
  EXPECT_EQ(in_front(small, Prefer::soon_needed), Names{"second"});
  EXPECT_EQ(in_front(small, Prefer::soon_ready), Names{"first"});
}

// What leads to the peak comes first, then what was moved in its order, then the peak and all else.
TEST_F(EarlyOrderTest, what_was_moved_is_more_urgent_than_the_peak) {
  const EarlyOrder early = early_order(*units_, guide_, peak_of(guide_) + 2 * small, 1, Prefer::soon_needed);
  std::vector<Time> priority(units_->size());
  for (std::size_t p = 0; p < guide_.size(); ++p) priority[guide_[p]] = static_cast<Time>(p) * 10;
  early.make_urgent(priority);
  const auto of = [&](const char* name) { return priority[units_->unit_of(step_.at(name))]; };
  ASSERT_EQ(early.moved.size(), 2U);
  EXPECT_LT(of("b"), priority[early.moved[0]]);
  EXPECT_LT(priority[early.moved[0]], priority[early.moved[1]]);
  EXPECT_LT(priority[early.moved[1]], of("big"));
  EXPECT_LT(of("big"), of("wide")) << "it was not moved";
}

}  // namespace
}  // namespace hocket::overlap
