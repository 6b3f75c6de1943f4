#include "hocket/lower/lower.h"

#include <gtest/gtest.h>

#include "hocket/ir/file.h"
#include "hocket/ir/text.h"
#include "hocket/ir/verify.h"
#include "support/captures.h"
#include "support/random_graph.h"
#include "support/soundness.h"
#include "support/terms.h"

namespace hocket {
namespace {

// Options that make every way of lowering happen on small tensors.
LowerOptions options_for(std::uint64_t seed) {
  LowerOptions options;
  switch (seed % 8) {
    case 0: break;
    case 1: options.force = ReduceAlgorithm::pipelined; break;
    case 2: options.force = ReduceAlgorithm::two_shot; break;
    case 3: options.force = ReduceAlgorithm::one_shot; break;
    case 4: options.one_shot_limit = Bytes(64), options.two_shot_limit = Bytes(128); break;
    case 5: options.one_shot_limit = options.two_shot_limit = options.copy_in_limit = Bytes(0); break;
    case 6: options.ordinary_groups = {"near", "dp"}, options.ranks_per_host = 4; break;
    default: options.symmetric = false; break;
  }
  return options;
}

TEST(Lower, gives_sound_programs_that_compute_the_same_as_random_graphs) {
  for (std::uint64_t seed = 0; seed < 800; ++seed) {
    const Graph graph = random_graph(seed);
    const auto lowered = lower(graph, options_for(seed / 5));  // five shapes
    ASSERT_TRUE(lowered) << seed << ": " << lowered.error().to_string();
    ASSERT_EQ(problems_of(lowered->program), "") << seed << "\n" << print(graph) << print(lowered->program);
    if (!has_static_sizes(graph)) continue;
    const TermsRun before = run_terms(graph);
    const TermsRun after = run_terms(lowered->program);
    ASSERT_TRUE(after.problems.empty()) << seed << ": " << after.problems.front();
    ASSERT_EQ(before.results, after.results) << seed << "\n" << print(graph) << print(lowered->program);
    ASSERT_EQ(before.inputs, after.inputs) << seed << "\n" << print(graph) << print(lowered->program);
  }
}

void expect_sound(const std::string& path) {
  const auto graph = read_graph(path);
  ASSERT_TRUE(graph) << graph.error().to_string();
  const auto lowered = lower(*graph);
  ASSERT_TRUE(lowered) << path << ": " << lowered.error().to_string();
  EXPECT_EQ(problems_of(lowered->program), "") << path;
  // Every collective of the graph is one step, in the same order.
  std::vector<NodeId> collectives;
  for (std::size_t i = 0; i < graph->size(); ++i) {
    if (graph->collective(NodeId(i)) != nullptr) collectives.push_back(NodeId(i));
  }
  ASSERT_EQ(lowered->report.collectives.size(), collectives.size()) << path;
  for (std::size_t i = 0; i < collectives.size(); ++i) {
    const LoweredCollective& collective = lowered->report.collectives[i];
    EXPECT_EQ(collective.node, collectives[i]) << path;
    EXPECT_EQ(lowered->program.name(collective.step), graph->name(collectives[i]));
    EXPECT_EQ(lowered->program.collective(collective.step)->bytes_out, graph->collective(collectives[i])->bytes_out);
  }
}

TEST(Lower, gives_sound_programs_of_shipped_captures) {
  for (const std::string& path : shipped_captures()) expect_sound(path);
}

TEST(Lower, gives_sound_programs_of_all_captures) {
  if (shared_captures().empty()) GTEST_SKIP() << no_shared_captures;
  for (const std::string& path : shared_captures()) expect_sound(path);
}

TEST(Lower, keeps_the_order_of_the_nodes) {
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    const Graph graph = random_graph(seed);
    const auto lowered = lower(graph);
    ASSERT_TRUE(lowered);
    std::size_t last = 0;
    for (std::size_t i = 0; i < lowered->program.size(); ++i) {
      const auto node = graph.find(lowered->program.name(StepId(i)));
      if (!node) continue;  // a copy
      EXPECT_GE(node->index(), last);
      last = node->index();
    }
  }
}

TEST(Lower, gives_programs_whose_text_reads_back_the_same) {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    const auto lowered = lower(random_graph(seed), options_for(seed));
    ASSERT_TRUE(lowered);
    const auto read = parse_program(print(lowered->program), "printed");
    ASSERT_TRUE(read) << read.error().to_string();
    EXPECT_EQ(*read, lowered->program) << seed;
  }
}

TEST(Lower, gives_the_same_program_every_time) {
  for (std::uint64_t seed = 0; seed < 50; ++seed)
    EXPECT_EQ(lower(random_graph(seed))->program, lower(random_graph(seed))->program);
}

TEST(Lower, says_which_buffer_holds_which_input) {
  const auto graph = parse_graph("graph @g(%x: f32[4], %y: f32[2]) {\n  %z = aten.neg(%y)\n  return %z\n}", "test");
  const auto lowered = lower(*graph);
  ASSERT_TRUE(lowered);
  ASSERT_EQ(lowered->inputs.size(), 2U);
  EXPECT_EQ(lowered->program.name(lowered->inputs[0]), "x");
  EXPECT_EQ(lowered->program.name(lowered->inputs[1]), "y");
  EXPECT_EQ(lowered->program.buffer(lowered->inputs[1]).home, Home::input);
}

TEST(Lower, marks_every_copy_that_it_inserts_as_never_to_be_fused) {
  std::size_t copies = 0;
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    const Graph graph = random_graph(seed, {.in_place = true});
    const auto lowered = lower(graph, {.force = ReduceAlgorithm::pipelined});
    ASSERT_TRUE(lowered);
    for (std::size_t i = 0; i < lowered->program.size(); ++i) {
      const bool inserted = !graph.find(lowered->program.name(StepId(i)));
      EXPECT_EQ(lowered->report.never_fuse(StepId(i)), inserted);
      copies += inserted ? 1 : 0;
    }
  }
  EXPECT_GT(copies, 50U);
}

}  // namespace
}  // namespace hocket
