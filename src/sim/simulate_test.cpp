// The simulator against closed forms on small programs, and against the scheduler's own evaluator.
#include "hocket/sim/simulate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "hocket/ir/file.h"
#include "hocket/ir/text.h"
#include "hocket/schedule/timeline.h"
#include "hocket/sim/scale.h"
#include "support/captures.h"
#include "support/random_graph.h"

namespace hocket {
namespace {

using testing::HasSubstr;

Nanoseconds us(double value) { return Nanoseconds::from_ns(value * 1000); }

Machine two_levels() {
  Machine machine;
  machine.ranks_per_host = 2;
  machine.levels = {{"inside", 2, Nanoseconds(), 100e9}, {"network", 0, Nanoseconds(), 10e9}};
  return machine;
}

// A program by hand.
class Draft {
 public:
  Draft(std::int64_t world, std::vector<std::vector<int>> groups) {
    program_.world = world;
    for (const auto& group : groups) {
      SimLane lane{"g" + std::to_string(program_.lanes.size()), {}};
      for (const int rank : group) lane.ranks.push_back(Rank{rank});
      program_.lanes.push_back(lane);
    }
    next_.resize(groups.size());
  }
  Draft& compute(double time) { return add({StepKind::compute, us(time), 0, 0, 0}); }
  Draft& start(std::uint32_t lane, double time) {
    return add({StepKind::collective, us(time), lane, next_[lane]++, 0});
  }
  Draft& wait(std::uint32_t lane, std::uint32_t sequence) { return add({StepKind::wait, {}, lane, sequence, 0}); }
  SimProgram get() const { return program_; }

 private:
  Draft& add(SimStep step) {
    step.step = static_cast<StepIndex>(program_.steps.size());
    program_.steps.push_back(step);
    program_.size = program_.steps.size();
    program_.times.push_back(step.time);
    program_.names.push_back("step" + std::to_string(step.step));
    return *this;
  }
  SimProgram program_;
  std::vector<std::uint32_t> next_;
};

SimResult simulated(const SimProgram& program, const SimOptions& options = {}) {
  auto result = simulate(program, two_levels(), options);
  EXPECT_TRUE(result) << result.error().to_string();
  return std::move(*result);
}

// ---------------------------------------------------------------- closed forms

TEST(Simulate, computes_beside_communication_and_waits_for_the_rest) {
  const auto result = simulated(Draft(2, {{0, 1}}).start(0, 5).compute(2).wait(0, 0).compute(1).get());
  EXPECT_EQ(result.step_time, us(6));
  EXPECT_EQ(result.exposed, us(3));
  EXPECT_EQ(result.shown.begin[3], us(5));
  EXPECT_EQ(result.shown.stood[2], us(3));
  EXPECT_EQ(result.simulated, 1);
  EXPECT_EQ(result.ranks, 2);
}

TEST(Simulate, queues_collectives_of_one_group) {
  const auto result = simulated(Draft(2, {{0, 1}}).start(0, 5).start(0, 5).wait(0, 1).get());
  EXPECT_EQ(result.step_time, us(10));
}

// Two groups over the same network links: each goes at half speed until the shorter one ends.
TEST(Simulate, shares_links_between_groups) {
  const SimProgram program = Draft(8, {{0, 2}, {0, 4}}).start(0, 4).start(1, 10).wait(0, 0).wait(1, 0).get();
  const auto shared = simulated(program);
  EXPECT_EQ(shared.shown.end[0], us(8));
  EXPECT_EQ(shared.step_time, us(14));
  const auto apart = simulated(program, {.share_links = false});
  EXPECT_EQ(apart.step_time, us(10));
}

TEST(Simulate, does_not_share_links_of_different_levels) {
  const SimProgram program = Draft(4, {{0, 1}, {0, 2}}).start(0, 4).start(1, 10).wait(0, 0).wait(1, 0).get();
  EXPECT_EQ(simulated(program).step_time, us(10));
}

TEST(Simulate, slows_computing_while_it_communicates) {
  const SimProgram program = Draft(2, {{0, 1}}).start(0, 3).compute(4).wait(0, 0).get();
  // 3 µs of communication let 2 µs of computing pass; the other 2 µs run at full speed.
  EXPECT_EQ(simulated(program, {.slowdown = 1.5}).step_time, us(5));
}

TEST(Simulate, charges_the_launch_of_collectives_to_the_compute_lane) {
  const SimProgram program = Draft(2, {{0, 1}}).start(0, 1).start(0, 1).compute(5).wait(0, 1).get();
  EXPECT_EQ(simulated(program, {.launch = us(0.5)}).step_time, us(6));
}

TEST(Simulate, lets_everybody_wait_for_a_straggler) {
  const SimProgram program = Draft(4, {{0, 1, 2, 3}}).compute(10).start(0, 2).wait(0, 0).get();
  const auto result = simulated(program, {.stragglers = {{Rank{2}, 1.5}}});
  EXPECT_EQ(result.step_time, us(17));
  EXPECT_EQ(result.exposed, us(7));  // of rank 0
  EXPECT_EQ(result.slowest, Rank{2});
  EXPECT_EQ(result.simulated, 4);
}

// Only the straggler's own group is held up by it.
TEST(Simulate, translates_groups_to_every_rank) {
  const SimProgram program = Draft(4, {{0, 1}}).compute(10).start(0, 2).wait(0, 0).get();
  EXPECT_EQ(simulated(program, {.stragglers = {{Rank{3}, 2}}, .shown = Rank{0}}).exposed, us(2 + 10));
  EXPECT_EQ(simulated(program, {.stragglers = {{Rank{3}, 2}}, .shown = Rank{2}}).shown.stood[2], us(12));
  EXPECT_EQ(simulated(program, {.stragglers = {{Rank{3}, 2}}, .shown = Rank{0}}).shown.stood[2], us(2));
}

TEST(Simulate, lets_ranks_arrive_late) {
  const SimProgram program = Draft(2, {{0, 1}}).start(0, 2).wait(0, 0).get();
  EXPECT_EQ(simulated(program, {.late = {us(0), us(7)}}).step_time, us(9));
}

TEST(Simulate, draws_the_same_jitter_for_the_same_seed) {
  Draft draft(4, {{0, 1, 2, 3}});
  for (std::uint32_t i = 0; i < 200; ++i) draft.compute(10).start(0, 1).wait(0, i);
  const SimProgram program = draft.get();
  const auto one = simulated(program, {.jitter = 0.1, .seed = 3});
  EXPECT_EQ(one.step_time, simulated(program, {.jitter = 0.1, .seed = 3}).step_time);
  EXPECT_NE(one.step_time, simulated(program, {.jitter = 0.1, .seed = 4}).step_time);
  // Each of the 200 rounds takes the longest of four draws: 10 µs · (1 + 1.03 · 0.1) on average, by the tables of order statistics.
  EXPECT_NEAR(one.step_time.ns() / 1000, 200 * (10 * 1.103 + 1), 200 * 10 * 0.02);
}

// ---------------------------------------------------------------- different programs

TEST(Simulate, runs_stages_of_a_pipeline_one_after_the_other) {
  const std::vector<SimProgram> stages = {Draft(2, {{0, 1}}).compute(3).start(0, 1).wait(0, 0).get(),
                                          Draft(2, {{0, 1}}).start(0, 1).wait(0, 0).compute(5).get()};
  const auto result = simulate(stages, two_levels(), {.shown = Rank{1}});
  ASSERT_TRUE(result) << result.error().to_string();
  EXPECT_EQ(result->step_time, us(9));
  EXPECT_EQ(result->exposed, us(4));
}

TEST(Simulate, prints_ranks_that_wait_for_each_other_as_a_cycle) {
  // Rank 0 wants its turn with rank 1 first, 1 with 2, 2 with 0.
  const auto stage = [](std::vector<int> first, std::vector<int> second) {
    return Draft(3, {std::move(first), std::move(second)}).start(0, 1).wait(0, 0).start(1, 1).wait(1, 0).get();
  };
  const std::vector<SimProgram> stages = {stage({0, 1}, {0, 2}), stage({1, 2}, {0, 1}), stage({0, 2}, {1, 2})};
  const auto result = simulate(stages, two_levels());
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().kind, ErrorKind::input);
  EXPECT_THAT(result.error().message, HasSubstr("wait for each other for ever"));
  for (const char* rank : {"rank 0", "rank 1", "rank 2"}) EXPECT_THAT(result.error().message, HasSubstr(rank));
}

TEST(Simulate, refuses_what_makes_no_sense) {
  const SimProgram program = Draft(2, {{0, 1}}).compute(1).get();
  EXPECT_THAT(simulate(program, two_levels(), {.slowdown = 0}).error().message, HasSubstr("positive"));
  EXPECT_THAT(simulate(program, two_levels(), {.stragglers = {{Rank{2}, 2}}}).error().message,
              HasSubstr("there are 2 ranks"));
  const SimProgram odd = Draft(4, {{0, 1, 3}}).compute(1).get();
  EXPECT_THAT(simulate(odd, two_levels(), {.jitter = 0.1}).error().message, HasSubstr("not evenly spaced"));
}

// ---------------------------------------------------------------- the scheduler's evaluator

void expect_same_as_two_lanes(const Graph& graph) {
  const CostModel cost(CostOptions{});
  const auto steps = StepGraph::of(graph, cost.times(graph));
  const auto program = sim_program(graph, cost);
  ASSERT_TRUE(program) << program.error().to_string();
  const Timeline line = timeline(*steps, steps->original_order());
  const auto result = simulate(*program, two_levels(), {.share_links = false});
  ASSERT_TRUE(result) << result.error().to_string();
  EXPECT_EQ(result->step_time, line.step_time);
  EXPECT_EQ(result->exposed, line.exposed);
  for (StepIndex step = 0; step < steps->size(); ++step) {
    if (steps->kind(step) == StepKind::fixed) continue;
    ASSERT_EQ(result->shown.begin[step], line.begin[step]) << steps->name(step);
    ASSERT_EQ(result->shown.end[step], line.end[step]) << steps->name(step);
    if (steps->kind(step) == StepKind::wait) {
      ASSERT_EQ(result->shown.stood[step], line.stood[step]) << steps->name(step);
    }
  }
}

TEST(Simulate, is_the_two_lane_model_to_the_picosecond_where_nothing_is_shared) {
  for (std::uint64_t seed = 1; seed <= 100; ++seed) {
    SCOPED_TRACE(seed);
    expect_same_as_two_lanes(random_graph(seed));
  }
  for (const std::string& path : shipped_captures()) {
    SCOPED_TRACE(path);
    expect_same_as_two_lanes(*read_graph(path));
  }
}

TEST(Simulate, of_one_rank_for_all_is_what_all_ranks_do) {
  for (const std::string& path : shipped_captures()) {
    SCOPED_TRACE(path);
    const Graph graph = *read_graph(path);
    const auto program =
        scale_program(graph, CostModel(CostOptions{.machine = *find_machine("h100x8")}), {.ranks = 16});
    ASSERT_TRUE(program) << program.error().to_string();
    const Machine machine = *find_machine("h100x8");
    const auto folded = simulate(*program, machine);
    const auto full = simulate(*program, machine, {.fold = false});
    ASSERT_TRUE(folded && full);
    EXPECT_EQ(full->simulated, 16);
    EXPECT_EQ(folded->step_time, full->step_time);
    EXPECT_EQ(folded->exposed, full->exposed);
    EXPECT_EQ(full->mean_exposed, full->exposed);
  }
}

// A collective that blocks queues behind what its group communicates already, and the compute lane waits for it: 10 µs of the sum, then
// 5 µs; the 3 µs of compute come after that. As computing it would have hidden the sum.
TEST(Simulate, lets_a_collective_that_blocks_take_its_turn_on_the_lane) {
  const Graph graph = *parse_graph(R"(graph @g(%x: f32[4,4]) {
    group @dp = ranks[0,1,2,3]
    %s = _c10d_functional.all_reduce(%x, "sum", @dp) {est=0.01ms}
    %t = _dtensor.shard_dim_alltoall(%x, 0, 1, @dp) {est=0.005ms}
    %y = aten.neg(%t) {est=0.003ms}
    %w = _c10d_functional.wait_tensor(%s)
    return %w, %y
  })",
                                   "test");
  const auto program = sim_program(graph, CostModel(CostOptions{.machine = two_levels()}));
  ASSERT_TRUE(program) << program.error().to_string();
  const SimResult result = simulated(*program);
  EXPECT_EQ(result.step_time, us(18));
  EXPECT_EQ(result.exposed, us(15));
  const StepIndex blocking = graph.find("t")->value;
  EXPECT_EQ(result.shown.issued[blocking], us(0));
  EXPECT_EQ(result.shown.stood[blocking], us(10));
  EXPECT_EQ(result.shown.begin[blocking], us(10));
  EXPECT_EQ(result.shown.end[blocking], us(15));
}

// ---------------------------------------------------------------- other numbers of ranks

// On two ranks the whole world and the inner group are the same ranks; they stay two groups.
TEST(ScaleProgram, keeps_groups_apart_that_have_become_the_same_ranks) {
  const Graph graph = *parse_graph(R"(graph @g(%x: f32[4]) {
    group @inner = ranks[0,1]
    group @all = ranks[0,1,2,3]
    %a = _c10d_functional.all_reduce(%x, "sum", @inner)
    %wa = _c10d_functional.wait_tensor(%a)
    %b = _c10d_functional.all_reduce(%wa, "sum", @all)
    %wb = _c10d_functional.wait_tensor(%b)
    %c = _c10d_functional.all_reduce(%wb, "sum", @inner)
    %wc = _c10d_functional.wait_tensor(%c)
    return %wc
  })",
                                   "test");
  const CostModel cost(CostOptions{.machine = *find_machine("h100x8")});
  const auto program = scale_program(graph, cost, {.ranks = 2});
  ASSERT_TRUE(program) << program.error().to_string();
  EXPECT_EQ(program->lanes[0].ranks, program->lanes[1].ranks);
  Nanoseconds one_after_the_other;
  for (const SimStep& step : program->steps) one_after_the_other += step.time;
  for (const bool fold : {true, false}) {
    const auto result = simulate(*program, cost.options().machine, {.fold = fold});
    ASSERT_TRUE(result) << result.error().to_string();
    EXPECT_EQ(result->step_time, one_after_the_other) << fold;
  }
}

TEST(EvenGroup, knows_the_group_of_every_rank) {
  const auto group = even_group(std::vector<Rank>{{0}, {2}, {4}});
  ASSERT_TRUE(group);
  EXPECT_EQ(group->of(Rank{9}).ranks(), (std::vector<Rank>{{7}, {9}, {11}}));
  EXPECT_FALSE(even_group(std::vector<Rank>{{0}, {1}, {3}}));
}

TEST(ScaleProgram, lets_outer_groups_grow_and_inner_ones_stay) {
  const Graph graph = *read_graph(HOCKET_TEST_DATA "/fsdp_tp_llama_tiny.json.gz");
  const CostModel cost(CostOptions{.machine = *find_machine("h100x8")});
  const auto captured = sim_program(graph, cost);
  const auto scaled = scale_program(graph, cost, {.ranks = captured->world * 4});
  ASSERT_TRUE(scaled) << scaled.error().to_string();
  std::vector<std::pair<std::size_t, std::size_t>> sizes;
  for (std::size_t lane = 0; lane < captured->lanes.size(); ++lane)
    sizes.emplace_back(captured->lanes[lane].ranks.size(), scaled->lanes[lane].ranks.size());
  std::sort(sizes.begin(), sizes.end());
  int grown = 0, kept = 0;
  for (const auto& [was, is] : sizes) {
    grown += is == 4 * was ? 1 : 0;
    kept += is == was ? 1 : 0;
  }
  EXPECT_EQ(grown, 1);
  EXPECT_EQ(kept, 1);
  EXPECT_FALSE(scale_program(graph, cost, {.ranks = 3}));
}

}  // namespace
}  // namespace hocket
