// Schedule against brute force: memory by counting who is alive, time by simulating, after every move.
#include "hocket/schedule/schedule.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "support/random.h"
#include "support/random_graph.h"
#include "support/random_program.h"

namespace hocket {
namespace {

std::vector<Nanoseconds> random_times(Random& random, std::size_t count) {
  std::vector<Nanoseconds> times(count);
  for (Nanoseconds& time : times)
    time = Nanoseconds::from_picoseconds(random.below(4) == 0 ? 0 : static_cast<std::int64_t>(random.below(1000)));
  return times;
}

// What is alive at a position, by the definition: buffers that somebody has touched up to here and somebody touches from here on.
Bytes alive_at(const StepGraph& steps, std::span<const StepIndex> order, std::size_t position) {
  std::vector<std::size_t> place(steps.size());
  for (std::size_t p = 0; p < order.size(); ++p) place[order[p]] = p;
  Bytes sum = steps.input_bytes();
  for (std::uint32_t b = 0; b < steps.buffers().size(); ++b) {
    bool before = false, after = steps.buffers()[b].kept;
    for (const StepIndex user : steps.touched_by(b)) {
      before = before || place[user] <= position;
      after = after || place[user] >= position;
    }
    if (before && after) sum += steps.buffers()[b].bytes;
  }
  return sum;
}

bool keeps_dependencies(const StepGraph& steps, std::span<const StepIndex> order) {
  std::vector<std::size_t> place(steps.size());
  for (std::size_t p = 0; p < order.size(); ++p) place[order[p]] = p;
  for (StepIndex step = 0; step < steps.size(); ++step) {
    for (const StepIndex before : steps.before(step)) {
      if (place[before] >= place[step]) return false;
    }
  }
  return true;
}

void expect_exact(const Schedule& schedule) {
  const StepGraph& steps = schedule.steps();
  const auto order = schedule.order();
  ASSERT_TRUE(keeps_dependencies(steps, order));
  Bytes peak = steps.input_bytes();
  for (std::size_t p = 0; p < order.size(); ++p) {
    ASSERT_EQ(schedule.position(order[p]), p);
    const Bytes alive = alive_at(steps, order, p);
    ASSERT_EQ(schedule.live(p).count, alive.count) << "position " << p;
    peak = std::max(peak, alive);
  }
  ASSERT_EQ(schedule.peak().count, peak.count);
  const Timeline line = timeline(steps, order);
  ASSERT_EQ(schedule.step_time(), line.step_time);
}

// A random walk of a random step, applied up to a random point.
void random_move(Random& random, Schedule& schedule) {
  const StepGraph& steps = schedule.steps();
  const auto step = static_cast<StepIndex>(random.below(steps.size()));
  if (steps.kind(step) == StepKind::fixed) return;
  Schedule::Move move(schedule, step, random.below(2) == 0 ? Direction::earlier : Direction::later);
  struct Decision {
    bool joined;
    Bytes most;
  };
  std::vector<Decision> decisions;
  const std::uint64_t most = random.below(8);
  while (move.count() < most && move.next() != no_step) {
    if (move.tie() != no_step) {
      if (random.below(3) == 0) break;
      move.join();
      decisions.push_back({true, Bytes()});
    } else {
      decisions.push_back({false, move.pass()});
    }
  }
  const std::size_t count = random.below(move.count() + 1);
  schedule.apply(move, count);
  if (count == 0 || decisions[count - 1].joined) return;
  // The last pass said what the group and the step that it passed would see.
  const auto joined =
      static_cast<std::size_t>(std::count_if(decisions.begin(), decisions.begin() + static_cast<std::ptrdiff_t>(count),
                                             [](const Decision& decision) { return decision.joined; }));
  const std::size_t place = schedule.position(step);
  const std::size_t first = move.direction() == Direction::earlier ? place - joined : place - 1;
  Bytes seen;
  for (std::size_t p = first; p < first + joined + 2; ++p) seen = std::max(seen, schedule.live(p));
  EXPECT_EQ(decisions[count - 1].most.count, seen.count);
}

StepGraph steps_of(Random& random, const Graph& graph) {
  return *StepGraph::of(graph, random_times(random, graph.size()));
}

TEST(Schedule, is_exact_after_every_random_move_on_graphs) {
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    SCOPED_TRACE(fmt::format("seed {}", seed));
    Random random(seed);
    const Graph graph = random_graph(seed);
    const StepGraph steps = steps_of(random, graph);
    Schedule schedule(steps, steps.original_order());
    expect_exact(schedule);
    for (int i = 0; i < 40; ++i) {
      random_move(random, schedule);
      ASSERT_NO_FATAL_FAILURE(expect_exact(schedule)) << "move " << i;
    }
  }
}

// 100,000 moves on programs of at most nine steps.
TEST(Schedule, is_exact_after_100000_random_moves_on_small_programs) {
  int moves = 0;
  for (std::uint64_t seed = 0; moves < 100'000; ++seed) {
    Random random(seed);
    const Program program = random_program(seed, {.steps = 2 + static_cast<int>(seed % 6), .world = 2, .width = 2});
    if (program.size() > 9) continue;
    const StepGraph steps = *StepGraph::of(program, random_times(random, program.size()));
    Schedule schedule(steps, steps.original_order());
    for (int i = 0; i < 50; ++i, ++moves) {
      random_move(random, schedule);
      ASSERT_NO_FATAL_FAILURE(expect_exact(schedule)) << "seed " << seed << " move " << i;
    }
  }
}

TEST(Schedule, a_group_moves_as_one_and_keeps_its_order) {
  const Graph graph = random_graph(7, {.shape = GraphShape::ddp});
  Random random(7);
  const StepGraph steps = steps_of(random, graph);
  for (const StepIndex collective : steps.collectives()) {
    Schedule schedule(steps, steps.original_order());
    Schedule::Move move(schedule, collective, Direction::earlier);
    while (move.next() != no_step) {
      if (move.tie() != no_step) move.join();
      else move.pass();
    }
    schedule.apply(move);
    expect_exact(schedule);
    for (std::size_t i = 1; i < move.group().size(); ++i) {
      EXPECT_EQ(schedule.position(move.group()[i]) + 1, schedule.position(move.group()[i - 1]));
    }
  }
}

}  // namespace
}  // namespace hocket
