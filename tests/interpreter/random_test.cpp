// Valid graphs and programs run without an objection, always with the same results.
#include <gtest/gtest.h>

#include "hocket/ir/text.h"
#include "support/random_graph.h"
#include "support/random_program.h"
#include "support/same_values.h"

namespace hocket {

namespace {

using interpreter::RunOptions;

// All kinds of graphs, small enough for thousands of them.
RandomGraphOptions small_options(std::uint64_t seed) {
  RandomGraphOptions options = random_graph_options(seed);
  options.symbolic = false;
  options.world = 2 << seed % 3;
  options.width = options.world;
  return options;
}

}  // namespace

TEST(RandomGraphs, run_without_an_objection) {
  for (std::uint64_t seed = 0; seed < 1500; ++seed) {
    const Graph graph = random_graph(seed, small_options(seed));
    const auto result = interpreter::run(graph, {.seed = seed});
    ASSERT_TRUE(result) << "seed " << seed << ": " << result.error().to_string() << "\n" << print(graph);
    ASSERT_TRUE(result->never_waited.empty()) << "seed " << seed;
  }
}

TEST(RandomPrograms, run_without_an_objection) {
  for (std::uint64_t seed = 0; seed < 600; ++seed) {
    const Program program = random_program(seed);
    const auto result = interpreter::run(program, {.seed = seed});
    ASSERT_TRUE(result) << "seed " << seed << ": " << result.error().to_string() << "\n" << print(program);
    ASSERT_TRUE(result->never_waited.empty()) << "seed " << seed;
  }
}

TEST(LongRandomGraphs, of_all_sizes_run_without_an_objection) {
  for (std::uint64_t seed = 0; seed < 5000; ++seed) {
    RandomGraphOptions options = random_graph_options(seed);
    options.symbolic = false;
    const Graph graph = random_graph(seed, options);
    const auto result = interpreter::run(graph, {.seed = seed});
    if (!result && result.error().kind == ErrorKind::usage) continue;  // too large
    ASSERT_TRUE(result) << "seed " << seed << ": " << result.error().to_string() << "\n" << print(graph);
  }
}

TEST(RandomGraphs, run_the_same_again_and_in_text) {
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    const Graph graph = random_graph(seed, small_options(seed));
    const auto first = interpreter::run(graph, {.seed = seed, .trace = true});
    const auto second = interpreter::run(graph, {.seed = seed, .trace = true});
    ASSERT_TRUE(first && second);
    EXPECT_EQ(*first, *second) << "seed " << seed;
    const auto read = parse_graph(print(graph), "again.hk");
    ASSERT_TRUE(read) << read.error().to_string();
    expect_same_values(graph, *read, seed);
  }
}

// What is right does not read poison, and so does not depend on what the poison is or whether reading it is an error.
TEST(RandomGraphs, run_the_same_without_objections) {
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    const Graph graph = random_graph(seed, small_options(seed));
    const auto strict = interpreter::run(graph, {.seed = seed, .trace = true});
    const auto lenient = interpreter::run(graph, {.seed = seed, .strict = false, .trace = true});
    ASSERT_TRUE(strict && lenient);
    EXPECT_EQ(*strict, *lenient) << "seed " << seed;
  }
}

TEST(RandomGraphs, values_depend_on_the_seed) {
  const Graph graph = random_graph(1, {.shape = GraphShape::ddp, .world = 2, .width = 2});
  const auto first = interpreter::run(graph, {.seed = 1});
  const auto second = interpreter::run(graph, {.seed = 2});
  ASSERT_TRUE(first && second);
  EXPECT_NE(interpreter::first_difference(*first, *second), "");
}

// Where a buffer lies does not change what is computed.
TEST(RandomPrograms, compute_the_same_with_and_without_places) {
  for (std::uint64_t seed = 0; seed < 300; ++seed)
    expect_same_values(random_program(seed, {.placed = false}), random_program(seed, {.placed = true}), seed);
}

}  // namespace hocket
