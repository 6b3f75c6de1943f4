// What can wait runs beside what the step stands still for, on a program small enough to see all of it.
#include "schedule/deferral.h"

#include <gtest/gtest.h>

#include <map>

#include "hocket/ir/text.h"
#include "schedule/guide_progress.h"
#include "schedule/polish.h"
#include "schedule/urgency.h"
#include "support/estimated_steps.h"

namespace hocket::overlap {
namespace {

// `sum` needs the chain a, b, c and nothing else. `small` takes longer than what it communicates, `large` less, `free` communicates nothing.
constexpr const char* program_text = R"(graph @g(%x: f32[1024]) {
  group @dp = ranks[0,1]
  %a = aten.neg(%x) {est=0.01ms}
  %free = aten.relu(%a) {est=0.004ms}
  %b = aten.neg(%a) {est=0.01ms}
  %small = aten.relu(%b) {est=0.006ms}
  %small_sum = _c10d_functional.all_reduce(%small, "sum", @dp) {est=0.001ms}
  %large = aten.relu(%b) {est=0.002ms}
  %large_sum = _c10d_functional.all_reduce(%large, "sum", @dp) {est=0.009ms}
  %c = aten.neg(%b) {est=0.01ms}
  %sum = _c10d_functional.all_reduce(%c, "sum", @dp) {est=0.02ms}
  %small_done = _c10d_functional.wait_tensor(%small_sum)
  %large_done = _c10d_functional.wait_tensor(%large_sum)
  %done = _c10d_functional.wait_tensor(%sum)
  return %free, %small_done, %large_done, %done
}
)";

struct Program {
  Program() : graph(*parse_graph(program_text, "test")) {
    steps = estimated_steps(graph);
    units.emplace(*steps, UnitGraph::grouping(*steps, options), options, Buckets{});
    made.order = units->order_of(steps->original_order());
    made.time = two_lane_time(*units, made);
    for (StepIndex step = 0; step < steps->size(); ++step) number[std::string(steps->name(step))] = step;
  }
  UnitIndex unit(const std::string& name) const { return units->unit_of(number.at(name)); }

  Graph graph;
  OverlapOptions options;
  std::optional<StepGraph> steps;
  std::optional<UnitGraph> units;
  MadeOrder made;
  std::map<std::string, StepIndex> number;
};

TEST(Deferral, puts_what_can_wait_behind_what_the_step_stands_still_for) {
  const Program program;
  const auto starts = deferred_starts(*program.units, program.made, comm_times(*program.units, {}), 1);
  const Time issue = starts[program.unit("sum")];
  EXPECT_GT(starts[program.unit("free")], issue);
  EXPECT_GT(starts[program.unit("small")], issue);
  EXPECT_LT(starts[program.unit("large")], issue) << "what it communicates would take longer than it does";
  for (const char* chain : {"a", "b", "c"})
    EXPECT_EQ(starts[program.unit(chain)], program.made.begin[program.unit(chain)]) << chain;
}

TEST(Deferral, puts_no_more_behind_it_than_there_is_time_to_fill) {
  const Program program;
  // The lane stands still for 20 µs behind all compute: an eighth of that is less than `small` takes, and nothing else is needed.
  const auto starts = deferred_starts(*program.units, program.made, comm_times(*program.units, {}), 0.125);
  EXPECT_GT(starts[program.unit("small")], starts[program.unit("sum")]);
  EXPECT_EQ(starts[program.unit("free")], program.made.begin[program.unit("free")]);
}

TEST(GuideProgress, is_where_the_most_critical_unit_stands_whatever_runs_ahead_or_is_put_off) {
  const Program program;
  GuideMemory memory(*program.units);
  GuideProgress progress(*program.units);
  memory.reset(program.made.order);
  progress.reset(program.made.order);
  progress.advance(memory);
  EXPECT_EQ(progress.progress(), progress.place(program.unit("a")));
  memory.run(program.unit("a"));
  memory.run(program.unit("b"));
  memory.run(program.unit("large"));  // ahead of c, with `free` put off
  progress.advance(memory);
  EXPECT_EQ(progress.progress(), progress.place(program.unit("c")));
  EXPECT_TRUE(progress.takes(program.unit("free")));
}

}  // namespace
}  // namespace hocket::overlap
