// The clock over the front of an order, advanced and taken back at random while the order changes, against the timeline of the order as it
// is.
#include "schedule/clock.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "hocket/schedule/timeline.h"
#include "support/random.h"
#include "support/random_graph.h"

namespace hocket {
namespace {

// All that the clock says of the positions that it knows.
void expect_true(const Clock& clock, const Schedule& schedule, std::size_t known) {
  const StepGraph& steps = schedule.steps();
  const auto order = schedule.order();
  const Timeline line = timeline(steps, order);
  Nanoseconds now;
  std::vector<Nanoseconds> free(steps.lanes());
  std::vector<StepIndex> last(steps.lanes(), no_step);
  for (std::size_t p = 0; p < known; ++p) {
    ASSERT_EQ(clock.at(p), now) << "position " << p;
    const StepIndex step = order[p];
    if (steps.kind(step) != StepKind::collective) {
      now = line.end[step];
      continue;
    }
    ASSERT_EQ(clock.lane_free_before(step), free[steps.lane(step)]) << "position " << p;
    ASSERT_EQ(clock.previous_on_lane(step), last[steps.lane(step)]) << "position " << p;
    free[steps.lane(step)] = line.end[step];
    last[steps.lane(step)] = step;
  }
  ASSERT_EQ(clock.at(known), now);
}

void expect_true_of_waits(const Clock& clock, const Schedule& schedule) {
  const StepGraph& steps = schedule.steps();
  for (const StepIndex collective : steps.collectives()) {
    std::size_t first = steps.size();
    for (StepIndex step = 0; step < steps.size(); ++step) {
      if (steps.kind(step) == StepKind::wait && steps.awaited(step) == collective)
        first = std::min(first, schedule.position(step));
    }
    ASSERT_EQ(clock.wait_position(schedule, collective), first);
  }
}

// Compute strictly between two positions. The later one is known, or behind all that has moved.
void expect_true_sums(const Clock& clock, const Schedule& schedule, std::size_t known, std::size_t moved,
                      Random& random) {
  const std::size_t place = random.index(known);
  const std::size_t end = place + 1 + random.index(schedule.order().size() - place);
  if (end > known && end < moved) return;
  Nanoseconds sum;
  for (std::size_t p = place + 1; p < end; ++p) sum += schedule.steps().time_on_compute(schedule.order()[p]);
  ASSERT_EQ(clock.compute_between(place, end), sum);
}

// Moves a step of the front, after the clock has forgotten the places that change.
void move_one(Clock& clock, Schedule& schedule, std::size_t& known, Random& random) {
  const StepIndex step = schedule.order()[random.index(known)];
  if (schedule.steps().kind(step) == StepKind::fixed) return;
  Schedule::Move move(schedule, step, Direction::earlier);
  for (std::uint64_t passes = random.below(6); passes > 0 && move.next() != no_step; --passes) {
    if (move.tie() != no_step) move.join();
    else move.pass();
  }
  known = schedule.position(step) - move.count();
  clock.retreat(schedule, known);
  schedule.apply(move);
}

TEST(Clock, says_what_the_timeline_of_the_order_says) {
  for (std::uint64_t seed = 0; seed < 80; ++seed) {
    SCOPED_TRACE(fmt::format("seed {}", seed));
    Random random(seed);
    const Graph graph = random_graph(seed);
    std::vector<Nanoseconds> times(graph.size());
    for (Nanoseconds& time : times) time = Nanoseconds::from_picoseconds(random.between(0, 40));
    const auto steps = StepGraph::of(graph, times);
    ASSERT_TRUE(steps);
    Schedule schedule(*steps, steps->original_order());
    Clock clock(*steps);
    std::size_t known = 0, moved = 0;
    for (int i = 0; i < 20; ++i) {
      known = std::min(steps->size(), known + 1 + random.index(steps->size()));
      clock.advance(schedule, known);
      ASSERT_NO_FATAL_FAILURE(expect_true(clock, schedule, known)) << "after " << i << " moves";
      ASSERT_NO_FATAL_FAILURE(expect_true_of_waits(clock, schedule));
      ASSERT_NO_FATAL_FAILURE(expect_true_sums(clock, schedule, known, moved, random));
      moved = std::max(moved, known);
      move_one(clock, schedule, known, random);
    }
  }
}

}  // namespace
}  // namespace hocket
