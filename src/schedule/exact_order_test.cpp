// The exact search against all orders of a small program, one by one.
#include "schedule/exact_order.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <limits>
#include <optional>

#include "hocket/ir/text.h"
#include "hocket/schedule/timeline.h"
#include "schedule/polish.h"
#include "support/estimated_steps.h"
#include "support/random.h"

namespace hocket::overlap {
namespace {

constexpr Time no_time = std::numeric_limits<Time>::max();
constexpr std::size_t many = 100'000;

// Two sums and some compute, of random times; what is large and when it is freed depends on the order.
std::string program_text(std::uint64_t seed) {
  Random random(seed);
  const auto ms = [&] { return fmt::format("{{est=0.0{:02}ms}}", random.between(1, 40)); };
  return fmt::format(R"(graph @g(%x: f32[64,64], %y: f32[64,8]) {{
  group @dp = ranks[0,1]
  %a = aten.mm(%x, %x) {}
  %b = aten.mm(%x, %y) {}
  %a_sum = _c10d_functional.all_reduce(%a, "sum", @dp) {}
  %c = aten.mm(%a, %b) {}
  %b_sum = _c10d_functional.all_reduce(%b, "sum", @dp) {}
  %a_done = _c10d_functional.wait_tensor(%a_sum)
  %d = aten.mm(%a_done, %y) {}
  %b_done = _c10d_functional.wait_tensor(%b_sum)
  %e = aten.mm(%a_done, %b_done) {}
  return %c, %d, %e
}})",
                     ms(), ms(), ms(), ms(), ms(), ms(), ms());
}

// Sums in three groups at once.
std::string three_groups(std::uint64_t seed) {
  Random random(seed);
  const auto ms = [&] { return fmt::format("{{est=0.0{:02}ms}}", random.between(1, 40)); };
  return fmt::format(R"(graph @g(%x: f32[64,64], %y: f32[64,8]) {{
  group @one = ranks[0,1]
  group @two = ranks[0,2]
  group @three = ranks[0,3]
  %a = aten.mm(%x, %x) {}
  %b = aten.mm(%x, %y) {}
  %a_sum = _c10d_functional.all_reduce(%a, "sum", @one) {}
  %b_sum = _c10d_functional.all_reduce(%b, "sum", @two) {}
  %c_sum = _c10d_functional.all_reduce(%a, "sum", @three) {}
  %b_done = _c10d_functional.wait_tensor(%b_sum)
  %a_done = _c10d_functional.wait_tensor(%a_sum)
  %d = aten.mm(%a_done, %b_done) {}
  %c_done = _c10d_functional.wait_tensor(%c_sum)
  return %c_done, %d
}})",
                     ms(), ms(), ms(), ms(), ms(), ms());
}

// Light steps go along with the sums that they lead to, and let go of what they read before the sum begins.
std::string light_steps(std::uint64_t seed) {
  Random random(seed);
  const auto ms = [&] { return fmt::format("{{est=0.0{:02}ms}}", random.between(10, 40)); };
  return fmt::format(R"(graph @g(%x: f32[64,64]) {{
  group @dp = ranks[0,1]
  %a = aten.mm(%x, %x) {}
  %b = aten.mm(%x, %x) {}
  %a_low = aten.slice.Tensor(%a, 0, 0, 16)
  %a_cast = aten.clone(%a_low) {{est=0.002ms}}
  %a_sum = _c10d_functional.all_reduce(%a_cast, "sum", @dp) {}
  %b_cast = aten.relu(%b) {{est=0.002ms}}
  %b_sum = _c10d_functional.all_reduce(%b_cast, "sum", @dp) {}
  %a_done = _c10d_functional.wait_tensor(%a_sum)
  %b_done = _c10d_functional.wait_tensor(%b_sum)
  %c = aten.mm(%x, %x) {}
  return %a_done, %b_done, %c
}})",
                     ms(), ms(), ms(), ms(), ms());
}

// More units than a set of them has room for.
std::string many_matmuls(std::size_t count) {
  std::string text = "graph @g(%x: f32[4,4]) {\n  %m0 = aten.mm(%x, %x) {est=0.001ms}\n";
  for (std::size_t i = 1; i < count; ++i) text += fmt::format("  %m{} = aten.mm(%m{}, %x) {{est=0.001ms}}\n", i, i - 1);
  return text + fmt::format("  return %m{}\n}}", count - 1);
}

struct Program {
  Program(std::uint64_t seed, bool merging) : Program(program_text(seed), merging) {}
  Program(const std::string& text, bool merging) : graph(*parse_graph(text, "test")) {
    steps = estimated_steps(graph);
    if (merging) {
      options.classes.push_back({[](Bytes moved) { return Nanoseconds::from_picoseconds(10'000 + moved.count); }});
      for (const StepIndex sum : steps->collectives()) options.candidates.push_back({sum, 0, Bytes(4096)});
    }
    units.emplace(*steps, UnitGraph::grouping(*steps, options), options, Buckets{});
    original = units->order_of(steps->original_order());
  }

  Size peak_of(const std::vector<UnitIndex>& order) const {
    GuideMemory memory(*units);
    memory.reset(order);
    return memory.guide_peak();
  }

  Graph graph;
  OverlapOptions options;
  std::optional<StepGraph> steps;
  std::optional<UnitGraph> units;
  std::vector<UnitIndex> original;
};

// The fastest of all orders that keep the limit, nothing merged.
Time fastest(const Program& program, Size limit, std::vector<UnitIndex>& order) {
  const UnitGraph& units = *program.units;
  if (order.size() == units.size()) {
    MadeOrder made;
    made.order = order;
    return program.peak_of(order) <= limit ? two_lane_time(units, made) : no_time;
  }
  const auto ran = [&](UnitIndex u) { return std::find(order.begin(), order.end(), u) != order.end(); };
  Time best = no_time;
  for (UnitIndex u = 0; u < units.size(); ++u) {
    const auto before = units.before(u);
    if (ran(u) || !std::all_of(before.begin(), before.end(), ran)) continue;
    order.push_back(u);
    best = std::min(best, fastest(program, limit, order));
    order.pop_back();
  }
  return best;
}

// When each step begins, and when each collective ends, as the timeline of the steps has it.
void expect_times_of_the_timeline(const Program& program, const MadeOrder& made) {
  const UnitGraph& units = *program.units;
  const Timeline line = timeline(*program.steps, units.steps_in(made.order));
  for (UnitIndex u = 0; u < units.size(); ++u) {
    for (const StepIndex step : units.steps_of(u)) {
      if (program.steps->kind(step) != StepKind::collective) continue;
      EXPECT_EQ(made.end[u], line.end[step].picoseconds);
    }
    if (units.unit(u).kind != StepKind::collective) {
      EXPECT_EQ(made.begin[u], line.begin[units.steps_of(u)[0]].picoseconds);
    }
  }
}

void expect_fastest(const Program& program) {
  const Size original = program.peak_of(program.original);
  for (const Size limit : {original, original + 16'384}) {
    std::vector<UnitIndex> none;
    const Time best = fastest(program, limit, none);
    const ExactOrder exact = exact_order(*program.units, limit, no_time, many);
    ASSERT_TRUE(exact.complete && exact.made);
    MadeOrder made = *exact.made;
    EXPECT_EQ(made.time, best);
    EXPECT_EQ(two_lane_time(*program.units, made), best);
    EXPECT_EQ(made.peak, program.peak_of(made.order));
    EXPECT_LE(made.peak, limit);
    EXPECT_TRUE(made.buckets.empty());
    expect_times_of_the_timeline(program, *exact.made);
  }
}

TEST(ExactOrder, is_the_fastest_of_all_orders_within_the_limit) {
  for (std::uint64_t seed = 1; seed <= 25; ++seed) {
    SCOPED_TRACE(fmt::format("seed {}", seed));
    ASSERT_NO_FATAL_FAILURE(expect_fastest(Program(seed, false)));
  }
  for (std::uint64_t seed = 1; seed <= 8; ++seed) {
    SCOPED_TRACE(fmt::format("three groups or light steps, seed {}", seed));
    ASSERT_NO_FATAL_FAILURE(expect_fastest(Program(three_groups(seed), false)));
    ASSERT_NO_FATAL_FAILURE(expect_fastest(Program(light_steps(seed), false)));
  }
}

TEST(ExactOrder, leaves_alone_what_is_too_large) {
  EXPECT_TRUE(exact_order(*Program(many_matmuls(most_exact_units), false).units, no_time, no_time, many).complete);
  EXPECT_FALSE(exact_order(*Program(many_matmuls(most_exact_units + 1), false).units, no_time, no_time, many).complete);
}

// No order is faster than the longest chain of steps that need each other: there is nothing to look at.
TEST(ExactOrder, looks_no_further_where_nothing_can_be_faster) {
  for (std::uint64_t seed = 1; seed <= 25; ++seed) {
    const Program program(seed, false);
    const Time chain = time_bound(*program.steps).critical_path.picoseconds;
    const ExactOrder exact = exact_order(*program.units, no_time, chain, 1);
    EXPECT_TRUE(exact.complete) << "seed " << seed;
    EXPECT_FALSE(exact.made) << "seed " << seed;
  }
}

TEST(ExactOrder, finds_nothing_where_nothing_is_faster_or_fits) {
  const Program program(1, false);
  const Size limit = program.peak_of(program.original);
  const ExactOrder exact = exact_order(*program.units, limit, no_time, many);
  ASSERT_TRUE(exact.made);
  const ExactOrder faster = exact_order(*program.units, limit, exact.made->time, many);
  EXPECT_TRUE(faster.complete);
  EXPECT_FALSE(faster.made);
  const ExactOrder smaller = exact_order(*program.units, 1, no_time, many);
  EXPECT_TRUE(smaller.complete);
  EXPECT_FALSE(smaller.made);
}

TEST(ExactOrder, gives_up_where_it_would_take_too_long) {
  const Program program(1, false);
  EXPECT_FALSE(exact_order(*program.units, program.peak_of(program.original), no_time, 3).complete);
}

TEST(ExactOrder, merges_where_that_pays) {
  int merged = 0;
  for (std::uint64_t seed = 1; seed <= 25; ++seed) {
    const Program alone(seed, false);
    const Program program(seed, true);
    const Size limit = 2 * program.peak_of(program.original);
    const ExactOrder apart = exact_order(*alone.units, limit, no_time, many);
    const ExactOrder exact = exact_order(*program.units, limit, no_time, many);
    ASSERT_TRUE(apart.made && exact.made) << "seed " << seed;
    EXPECT_LE(exact.made->time, apart.made->time) << "seed " << seed;
    if (exact.made->buckets.empty()) continue;
    ++merged;
    EXPECT_EQ(exact.made->end[exact.made->buckets[0][0]], exact.made->end[exact.made->buckets[0][1]]);
  }
  EXPECT_GT(merged, 0);
}

}  // namespace
}  // namespace hocket::overlap
