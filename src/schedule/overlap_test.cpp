// The optimiser against exhaustive search on small programs, and what it promises on all.
#include "hocket/schedule/overlap.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <optional>

#include "hocket/ir/builder.h"
#include "hocket/schedule/bounds.h"
#include "hocket/schedule/timeline.h"
#include "support/random.h"

namespace hocket {
namespace {

// A program of few steps: chains of compute with collectives in between, of random times and sizes. The graph must outlive the steps.
struct SmallProgram {
  Graph graph;
  std::vector<Nanoseconds> times;
};

SmallProgram small_program(std::uint64_t seed) {
  Random random(seed);
  GraphBuilder b("small");
  const GroupId group = b.group("dp", std::vector<Rank>{Rank{0}, Rank{1}});
  b.world(2, 0);
  std::vector<NodeId> values = {b.input("x", Dtype::f32, {8, 8}), b.input("y", Dtype::f32, {8, 8})};
  // Eight or nine steps that can move: exhaustive search is still quick.
  const std::size_t collectives = 1 + random.index(3);
  const std::size_t operators = collectives == 1 ? 6 : collectives == 2 ? 4 : 3;
  std::vector<char> communicates(collectives + operators, 0);
  std::fill_n(communicates.begin(), collectives, 1);
  random.shuffle(communicates);
  for (const char is_collective : communicates) {
    if (is_collective != 0) {
      const NodeId sum = b.op("_c10d_functional.all_reduce", {random.pick(values), "sum", group});
      values.push_back(b.op("_c10d_functional.wait_tensor", {sum}));
    } else {
      values.push_back(b.op("aten.mm", {random.pick(values), random.pick(values)}));
    }
  }
  std::vector<NodeId> results = {values.back()};
  for (std::size_t i = 2; i + 1 < values.size(); ++i) {
    if (random.chance(50)) results.push_back(values[i]);
  }
  b.output(results);
  SmallProgram program{*b.finish(), {}};
  for (std::size_t i = 0; i < program.graph.size(); ++i)
    program.times.push_back(Nanoseconds::from_picoseconds(1000 * random.between(1, 40)));
  return program;
}

// The shortest step over all orders, and all ways of merging collectives of one class that stand next to each other.
class Exhaustive {
 public:
  Exhaustive(const StepGraph& steps, Bytes limit, const OverlapOptions& options)
      : steps_(steps), limit_(limit), options_(options) {
    for (const MergeCandidate& candidate : options.candidates) moved_[candidate.collective] = candidate.moved;
  }

  Nanoseconds best() {
    missing_.resize(steps_.size());
    for (StepIndex step = 0; step < steps_.size(); ++step) missing_[step] = steps_.before(step).size();
    walk();
    return *best_;
  }

 private:
  // Of collectives that are issued in a row, the n-th is one with that before it if bit n of `joined` says so.
  Nanoseconds step_time(unsigned joined) const {
    Nanoseconds now;
    Nanoseconds lane;
    std::map<StepIndex, Nanoseconds> end;
    std::vector<StepIndex> row;
    const auto flush = [&] {
      if (row.empty()) return;
      Nanoseconds time = steps_.time(row[0]);
      if (row.size() > 1) {
        Bytes moved;
        for (const StepIndex member : row) moved += moved_.at(member);
        time = options_.classes[0].time(moved);
      }
      lane = std::max(lane, now) + time;
      for (const StepIndex member : row) end[member] = lane;
      row.clear();
    };
    unsigned number = 0;
    for (const StepIndex step : order_) {
      if (steps_.kind(step) == StepKind::collective) {
        if ((joined >> number++ & 1U) == 0) flush();
        row.push_back(step);
        continue;
      }
      if (steps_.kind(step) == StepKind::fixed) continue;
      flush();
      if (steps_.kind(step) == StepKind::wait) now = std::max(now, end[steps_.awaited(step)]);
      now += steps_.time(step);
    }
    flush();
    return std::max(now, lane);
  }

  void walk() {
    if (order_.size() == steps_.size()) {
      const unsigned ways = options_.classes.empty() ? 1U : 1U << steps_.collectives().size();
      for (unsigned joined = 0; joined < ways; ++joined) {
        const Nanoseconds time = step_time(joined);
        if ((!best_ || time < *best_) && memory_curve(steps_, order_).peak <= limit_) best_ = time;
      }
      return;
    }
    for (StepIndex step = 0; step < steps_.size(); ++step) {
      const bool is_output = step + 1 == steps_.size();
      if (missing_[step] != 0 || (is_output && order_.size() + 1 < steps_.size())) continue;
      missing_[step] = steps_.size() + 1;  // taken
      order_.push_back(step);
      for (const StepIndex later : steps_.after(step)) --missing_[later];
      // Inputs take no time and hold their memory throughout: they come first, in one order.
      walk();
      for (const StepIndex later : steps_.after(step)) ++missing_[later];
      order_.pop_back();
      missing_[step] = 0;
      if (steps_.kind(step) == StepKind::fixed && !is_output) return;
    }
  }

  const StepGraph& steps_;
  Bytes limit_;
  const OverlapOptions& options_;
  std::map<StepIndex, Bytes> moved_;
  std::vector<std::size_t> missing_;
  std::vector<StepIndex> order_;
  std::optional<Nanoseconds> best_;
};

// Merging pays: half of each time is latency.
OverlapOptions with_merging(const StepGraph& steps) {
  OverlapOptions options;
  options.classes.push_back({[](Bytes moved) { return Nanoseconds::from_picoseconds(10'000 + moved.count * 20); }});
  for (const StepIndex collective : steps.collectives()) options.candidates.push_back({collective, 0, Bytes(512)});
  return options;
}

struct Gap {
  double sum = 0, worst = 0;
  int programs = 0;
};

Gap gap_to_optimum(int programs, bool merging) {
  Gap gap;
  for (std::uint64_t seed = 1; gap.programs < programs; ++seed) {
    const SmallProgram program = small_program(seed);
    auto steps = StepGraph::of(program.graph, program.times, {.keep_collective_order = false});
    if (!steps) {
      ADD_FAILURE() << steps.error().to_string();
      return gap;
    }
    OverlapOptions options;
    if (merging) options = with_merging(*steps);
    const Bytes limit = memory_curve(*steps, steps->original_order()).peak;
    const OverlapPlan plan = plan_overlap(*steps, options);
    const Nanoseconds best = Exhaustive(*steps, limit, options).best();
    EXPECT_GE(plan.step_time, best) << "seed " << seed << ": faster than all orders";
    EXPECT_LE(plan.peak, limit) << "seed " << seed;
    const Nanoseconds bound = merging ? merged_bound(*steps, options).time : step_bound(*steps).time;
    EXPECT_GE(best, bound) << "seed " << seed << ": below its lower bound";
    const double above = plan.step_time.ns() / best.ns() - 1;
    gap.sum += above;
    gap.worst = std::max(gap.worst, above);
    ++gap.programs;
  }
  return gap;
}

void expect_near_optimum(int programs, bool merging) {
  const Gap gap = gap_to_optimum(programs, merging);
  const double mean = gap.sum / gap.programs;
  testing::Test::RecordProperty("mean_above_optimum", std::to_string(mean));
  testing::Test::RecordProperty("worst_above_optimum", std::to_string(gap.worst));
  fmt::print("{} programs{}: {:.3f} % above the optimum on average, worst {:.1f} %\n", gap.programs,
             merging ? " with merging" : "", mean * 100, gap.worst * 100);
  EXPECT_LE(mean, 0.02);
  EXPECT_LT(gap.worst, 1e-9) << "programs of this size are solved";
}

TEST(Overlap, is_near_the_optimum_of_small_programs) { expect_near_optimum(60, false); }
TEST(Overlap, is_near_the_optimum_of_small_programs_with_merging) { expect_near_optimum(60, true); }
TEST(LongOverlap, is_within_two_percent_of_a_thousand_optima) { expect_near_optimum(1000, false); }
TEST(LongOverlap, is_within_two_percent_of_a_thousand_optima_with_merging) { expect_near_optimum(1000, true); }

TEST(Overlap, gives_the_same_plan_twice) {
  for (std::uint64_t seed = 1; seed < 20; ++seed) {
    const SmallProgram program = small_program(seed);
    auto steps = StepGraph::of(program.graph, program.times, {.keep_collective_order = false});
    ASSERT_TRUE(steps);
    const OverlapOptions options = with_merging(*steps);
    const OverlapPlan one = plan_overlap(*steps, options);
    const OverlapPlan two = plan_overlap(*steps, options);
    EXPECT_EQ(one.order, two.order);
    EXPECT_EQ(one.buckets, two.buckets);
  }
}

// Too many steps for the exact search: a hundred products beside a sum that is used last but waited for first.
TEST(Overlap, looks_no_further_once_all_communication_is_hidden) {
  GraphBuilder b("hidden");
  const GroupId group = b.group("dp", std::vector<Rank>{Rank{0}, Rank{1}});
  b.world(2, 0);
  const NodeId x = b.input("x", Dtype::f32, {8, 8});
  const NodeId sum = b.op("_c10d_functional.wait_tensor", {b.op("_c10d_functional.all_reduce", {x, "sum", group})});
  NodeId value = x;
  for (int i = 0; i < 100; ++i) value = b.op("aten.mm", {value, x});
  b.output(std::vector<NodeId>{b.op("aten.add.Tensor", {sum, value})});
  const Graph graph = *b.finish();
  const std::vector<Nanoseconds> times(graph.size(), Nanoseconds::from_picoseconds(1'000'000));
  const auto steps = StepGraph::of(graph, times);
  ASSERT_TRUE(steps);
  OverlapOptions options;
  options.memory_limit = Bytes(1 << 20);
  const OverlapPlan plan = plan_overlap(*steps, options);
  EXPECT_EQ(plan.step_time, Nanoseconds::from_picoseconds(101'000'000));
  EXPECT_LT(plan.orders_tried, 10U);
}

TEST(Overlap, is_never_slower_than_the_original_order) {
  for (std::uint64_t seed = 1; seed < 200; ++seed) {
    const SmallProgram program = small_program(seed);
    auto steps = StepGraph::of(program.graph, program.times, {.keep_collective_order = false});
    ASSERT_TRUE(steps);
    for (const Effort effort : {Effort::fast, Effort::standard}) {
      OverlapOptions options;
      options.effort = effort;
      const OverlapPlan plan = plan_overlap(*steps, options);
      EXPECT_LE(plan.step_time, timeline(*steps, steps->original_order()).step_time) << "seed " << seed;
      EXPECT_EQ(plan.step_time, timeline(*steps, plan.order).step_time) << "seed " << seed;
    }
  }
}

// Whether or not anything can run early.
TEST(Overlap, the_search_for_early_steps_keeps_the_limit_and_says_its_time) {
  for (std::uint64_t seed = 1; seed < 8; ++seed) {
    const SmallProgram program = small_program(seed);
    auto steps = StepGraph::of(program.graph, program.times, {.keep_collective_order = false});
    ASSERT_TRUE(steps);
    OverlapOptions options;
    options.effort = Effort::max;
    options.early = true;
    const Bytes peak = memory_curve(*steps, steps->original_order()).peak;
    options.memory_limit = Bytes(peak.count * 5 / 4);
    const OverlapPlan plan = plan_overlap(*steps, options);
    EXPECT_EQ(plan.step_time, timeline(*steps, plan.order).step_time) << "seed " << seed;
    EXPECT_LE(plan.step_time, timeline(*steps, steps->original_order()).step_time) << "seed " << seed;
    EXPECT_LE(memory_curve(*steps, plan.order).peak, *options.memory_limit) << "seed " << seed;
    EXPECT_EQ(plan.order, plan_overlap(*steps, options).order) << "seed " << seed;
  }
}

TEST(Overlap, says_what_can_be_reached_where_the_limit_is_too_low) {
  const SmallProgram program = small_program(3);
  auto steps = StepGraph::of(program.graph, program.times, {.keep_collective_order = false});
  ASSERT_TRUE(steps);
  OverlapOptions options;
  options.memory_limit = Bytes(1);
  const OverlapPlan plan = plan_overlap(*steps, options);
  EXPECT_FALSE(plan.within_limit);
  EXPECT_EQ(plan.peak, memory_curve(*steps, plan.order).peak);
  EXPECT_GT(plan.peak, Bytes(1));
}

// All forward passes, then all backward passes, which reduce their gradients: holds what all forward passes have computed.
Graph micro_batches(std::int64_t batches, std::int64_t layers) {
  GraphBuilder b("micro_batches");
  const GroupId group = b.group("dp", std::vector<Rank>{Rank{0}, Rank{1}});
  b.world(2, 0);
  std::vector<NodeId> weights;
  for (std::int64_t i = 0; i < layers; ++i) weights.push_back(b.input(fmt::format("w{}", i), Dtype::f32, {8, 8}));
  std::vector<std::vector<NodeId>> values;
  for (std::int64_t batch = 0; batch < batches; ++batch) {
    values.push_back({b.input(fmt::format("x{}", batch), Dtype::f32, {8, 8})});
    for (const NodeId weight : weights) values.back().push_back(b.op("aten.mm", {values.back().back(), weight}));
  }
  std::vector<NodeId> gradients(weights.size(), NodeId::none());
  for (const auto& forward : values) {
    NodeId gradient = forward.back();
    for (std::size_t i = weights.size(); i-- > 0;) {
      const NodeId own = b.op("aten.mm", {gradient, forward[i]});
      const NodeId sum =
          b.op("_c10d_functional.wait_tensor", {b.op("_c10d_functional.all_reduce", {own, "sum", group})});
      gradients[i] = gradients[i].valid() ? b.op("aten.add.Tensor", {gradients[i], sum}) : sum;
      gradient = b.op("aten.mm", {gradient, weights[i]});
    }
  }
  b.output(gradients);
  return *b.finish();
}

TEST(Overlap, runs_a_backward_pass_before_the_next_forward_pass_where_memory_is_short) {
  constexpr std::int64_t batches = 4, layers = 12;
  const Graph graph = micro_batches(batches, layers);
  const std::vector<Nanoseconds> times(graph.size(), Nanoseconds::from_picoseconds(1'000'000));
  const auto steps = StepGraph::of(graph, times, {.keep_collective_order = false});
  ASSERT_TRUE(steps);
  constexpr std::int64_t tensor = 256, inputs = layers + batches;
  EXPECT_GE(memory_curve(*steps, steps->original_order()).peak.count, (inputs + batches * layers) * tensor);
  OverlapOptions options;
  // The gradients, what one forward pass has computed, and a little.
  options.memory_limit = Bytes((inputs + 2 * layers + 4) * tensor);
  for (const Effort effort : {Effort::fast, Effort::standard}) {
    options.effort = effort;
    const OverlapPlan plan = plan_overlap(*steps, options);
    EXPECT_TRUE(plan.within_limit);
    EXPECT_LE(memory_curve(*steps, plan.order).peak, *options.memory_limit);
    EXPECT_EQ(plan.step_time, timeline(*steps, plan.order).step_time);
    EXPECT_LE(plan.step_time, timeline(*steps, steps->original_order()).step_time);
  }
}

}  // namespace
}  // namespace hocket
