// Lowering and planning, one after the other: what comes out computes what went in, in memory that is used again and again.
#include <gtest/gtest.h>

#include "hocket/ir/file.h"
#include "hocket/ir/text.h"
#include "hocket/ir/verify.h"
#include "hocket/lower/agreement.h"
#include "hocket/lower/lower.h"
#include "hocket/plan/plan.h"
#include "support/captures.h"
#include "support/random_graph.h"
#include "support/same_values.h"
#include "support/soundness.h"
#include "support/terms.h"

namespace hocket {
namespace {

// Limits that send the small tensors of random graphs to all algorithms.
LowerOptions options_for(std::uint64_t seed) {
  LowerOptions options;
  if (seed % 3 == 1) options.force = ReduceAlgorithm::pipelined;
  if (seed % 3 == 2) options.one_shot_limit = Bytes(64), options.two_shot_limit = Bytes(128);
  if (seed % 4 == 1) options.copy_in_limit = Bytes(0);
  return options;
}

TEST(LowerAndPlan, compute_the_same_terms_in_planned_memory) {
  for (std::uint64_t seed = 0; seed < 400; ++seed) {
    const Graph graph = random_graph(seed);
    const auto lowered = lower(graph, options_for(seed));
    ASSERT_TRUE(lowered) << lowered.error().to_string();
    const auto planned = plan(lowered->program, {.alignment = 16});
    ASSERT_TRUE(planned) << planned.error().to_string();
    ASSERT_EQ(problems_of(planned->program), "") << seed;
    if (!has_static_sizes(graph)) continue;
    const TermsRun before = run_terms(graph);
    const TermsRun after = run_terms(planned->program);
    ASSERT_TRUE(after.problems.empty()) << seed << ": " << after.problems.front();
    ASSERT_EQ(before.results, after.results) << seed << "\n" << print(graph) << print(planned->program);
    ASSERT_EQ(before.inputs, after.inputs) << seed << "\n" << print(graph) << print(planned->program);
  }
}

TEST(LowerAndPlan, compute_the_same_values_on_all_ranks) {
  for (std::uint64_t seed = 0; seed < 120; ++seed) {
    const Graph graph = random_graph(seed);
    if (!has_static_sizes(graph)) continue;
    const auto lowered = lower(graph, options_for(seed));
    ASSERT_TRUE(lowered) << lowered.error().to_string();
    const auto planned = plan(lowered->program);
    ASSERT_TRUE(planned) << planned.error().to_string();
    ASSERT_TRUE(same_values(graph, lowered->program, seed)) << "lowered: " << seed;
    ASSERT_TRUE(same_values(graph, planned->program, seed)) << "planned: " << seed;
  }
}

void expect_within_5_percent(const std::string& path) {
  const auto graph = read_graph(path);
  ASSERT_TRUE(graph) << graph.error().to_string();
  const auto lowered = lower(*graph);
  ASSERT_TRUE(lowered) << path << ": " << lowered.error().to_string();
  const auto planned = plan(lowered->program);
  ASSERT_TRUE(planned) << path << ": " << planned.error().to_string();
  EXPECT_EQ(problems_of(planned->program), "") << path;
  for (const PlannedArena& arena : planned->report.arenas) {
    EXPECT_GE(arena.size, arena.bound);
    EXPECT_LE(arena.size.count, arena.bound.count + arena.bound.count / 20) << path << "\n"
                                                                            << describe(planned->report);
  }
}

TEST(LowerAndPlan, stay_within_5_percent_of_the_lower_bound_on_shipped_captures) {
  for (const std::string& path : shipped_captures()) expect_within_5_percent(path);
}

TEST(LowerAndPlan, stay_within_5_percent_of_the_lower_bound_on_all_captures) {
  if (shared_captures().empty()) GTEST_SKIP() << no_shared_captures;
  for (const std::string& path : shared_captures()) expect_within_5_percent(path);
}

// The same step as two ranks capture it: other ranks in the group, another device, another slice.
std::string step_of(int rank) {
  return fmt::format(R"(
graph @step(%x: f32[8,4]) {{
  world 4 rank {0}
  device "cuda:{0}"
  group @g{0} = ranks[{1},{2}]
  %mine = aten.slice.Tensor(%x, 0, {3}, {4})
  %a = aten.relu(%mine)
  %all = _c10d_functional.all_gather_into_tensor(%a, 2, @g{0})
  %w = _c10d_functional.wait_tensor(%all)
  %sum = _c10d_functional.all_reduce(%w, "sum", @g{0})
  %v = _c10d_functional.wait_tensor(%sum)
  return %v
}})",
                     rank, rank / 2 * 2, rank / 2 * 2 + 1, rank % 2 * 4, rank % 2 * 4 + 4);
}

TEST(LowerAndPlan, give_all_ranks_the_same_symmetric_memory) {
  const auto planned_on = [](int rank) {
    const auto graph = parse_graph(step_of(rank), "rank");
    EXPECT_TRUE(graph) << graph.error().to_string();
    return plan(lower(*graph)->program)->program;
  };
  const Program first = planned_on(0);
  for (int rank = 1; rank < 4; ++rank) {
    const Program other = planned_on(rank);
    EXPECT_EQ(agreement_digest(first), agreement_digest(other));
    EXPECT_FALSE(first_difference(first, other));
    for (std::size_t i = 0; i < first.buffers().size(); ++i)
      EXPECT_EQ(first.buffer(BufferId(i)).placed_at, other.buffer(BufferId(i)).placed_at);
  }
}

}  // namespace
}  // namespace hocket
