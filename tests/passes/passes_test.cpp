// Every pass and every pipeline computes what went in: random programs run before and after by the reference interpreter, on all ranks.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "hocket/compile/compile.h"
#include "hocket/ir/text.h"
#include "pipelines.h"
#include "support/random_graph.h"
#include "support/random_program.h"
#include "support/same_values.h"

namespace hocket {
namespace {

constexpr std::uint64_t times_longer = 25;

CompileOptions options_of(const std::string& pipeline) {
  CompileOptions options;
  options.passes = *parse_passes(pipeline);
  options.cost.machine = *find_machine("h100x8");
  options.memory_limit.relative = 1.5;
  return options;
}

template <class Form>
void expect_same(const Form& before, const std::string& pipeline, std::uint64_t seed) {
  SCOPED_TRACE(fmt::format("{} on seed {}", pipeline, seed));
  const auto compiled = compile(before, options_of(pipeline));
  ASSERT_TRUE(compiled) << compiled.error().to_string() << "\n" << print(before);
  const auto same =
      std::visit([&](const auto& after) { return same_values(before, after, seed + 1); }, compiled->subject);
  ASSERT_TRUE(same) << print(before) << std::visit([](const auto& after) { return print(after); }, compiled->subject);
}

// Graphs that the interpreter can run: no symbolic sizes, no operators that it cannot know.
RandomGraphOptions runnable(std::uint64_t seed) {
  RandomGraphOptions options = random_graph_options(seed);
  options.symbolic = false;
  options.opaque = false;
  return options;
}

void run_graphs(const std::string& pipeline, std::uint64_t first, std::uint64_t count) {
  for (std::uint64_t seed = first; seed < first + count; ++seed) {
    ASSERT_NO_FATAL_FAILURE(expect_same(random_graph(seed, runnable(seed)), pipeline, seed));
  }
}

class GraphPipelines : public testing::TestWithParam<std::size_t> {};
class LongGraphPipelines : public GraphPipelines {};

TEST_P(GraphPipelines, compute_the_same_on_random_graphs) {
  run_graphs(graph_pipelines()[GetParam()], 1000 * GetParam(), programs(60));
}
TEST_P(LongGraphPipelines, compute_the_same_on_random_graphs) {
  run_graphs(graph_pipelines()[GetParam()], 1'000'000 + 10'000 * GetParam(), 60 * times_longer);
}
INSTANTIATE_TEST_SUITE_P(All, GraphPipelines, testing::Range(std::size_t{0}, graph_pipelines().size()));
INSTANTIATE_TEST_SUITE_P(LongAll, LongGraphPipelines, testing::Range(std::size_t{0}, graph_pipelines().size()));

TEST(Passes, compute_the_same_on_random_programs) {
  for (const std::string& pipeline : program_pipelines()) {
    for (std::uint64_t seed = 0; seed < programs(60); ++seed) {
      ASSERT_NO_FATAL_FAILURE(expect_same(random_program(seed), pipeline, seed));
    }
  }
}

// Passes must do something on graphs of their kind, or the tests above say little.
TEST(Passes, change_graphs_of_their_kind) {
  const auto changes = [](const std::string& pipeline, const RandomGraphOptions& options) {
    int changed = 0;
    for (std::uint64_t seed = 0; seed < 20; ++seed) {
      const auto compiled = compile(random_graph(seed, options), options_of(pipeline));
      EXPECT_TRUE(compiled) << compiled.error().to_string();
      changed += compiled && compiled->runs.front().changed ? 1 : 0;
    }
    return changed;
  };
  EXPECT_GE(changes("forward_copies", {.shape = GraphShape::ddp, .copy_over = true}), 15);
  EXPECT_GE(changes("fuse_ddp_with_concat", {.shape = GraphShape::ddp}), 15);
  EXPECT_GE(changes("fuse_ddp_with_coalesced", {.shape = GraphShape::ddp}), 15);
  EXPECT_GE(changes("bucket_all_gather(bucket_size_mb=25)", {.shape = GraphShape::fsdp}), 15);
  EXPECT_GE(changes("bucket_reduce_scatter(bucket_size_mb=25)", {.shape = GraphShape::fsdp}), 15);
  EXPECT_GE(changes("raise_comms", {.shape = GraphShape::fsdp}), 15);
  EXPECT_GE(changes("sink_waits", {.shape = GraphShape::tensor}), 15);
  EXPECT_GE(changes("reorder_communication_preserving_peak_memory(budget=1)", {.shape = GraphShape::fsdp}), 15);
  EXPECT_GE(changes("sink_waits_iterative(budget=1)", {.shape = GraphShape::ddp}), 10);
}

TEST(Passes, give_the_same_twice) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    const Graph graph = random_graph(seed, runnable(seed));
    const std::string& pipeline = graph_pipelines()[graph_pipelines().size() - 2];
    const auto digest = [&] {
      const auto compiled = compile(graph, options_of(pipeline));
      return std::visit([](const auto& form) { return form.digest(); }, compiled->subject);
    };
    EXPECT_EQ(digest(), digest()) << "seed " << seed;
  }
}

}  // namespace
}  // namespace hocket
