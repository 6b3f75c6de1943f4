// The pipeline: what it checks, what a failure leaves, how ranks agree.
#include "hocket/compile/compile.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <thread>

#include "hocket/cost/local_ranks.h"
#include "hocket/ir/file.h"
#include "hocket/ir/rewrite.h"
#include "hocket/ir/text.h"
#include "support/random_graph.h"
#include "support/random_program.h"
#include "support/temporary_folder.h"

namespace hocket {
namespace {

using testing::HasSubstr;

constexpr std::string_view two_matmuls = R"(graph @g(%x: f32[4,4]) {
  group @dp = ranks[0,1]
  %sum = _c10d_functional.all_reduce(%x, "sum", @dp) {est=0.02ms}
  %done = _c10d_functional.wait_tensor(%sum)
  %y = aten.mm(%x, %x) {est=0.01ms}
  %z = aten.mm(%done, %y) {est=0.01ms}
  return %z
})";

Graph graph_of(std::string_view text) {
  auto graph = parse_graph(text, "test");
  EXPECT_TRUE(graph) << graph.error().to_string();
  return std::move(*graph);
}

CompileOptions options_of(std::string_view passes) {
  CompileOptions options;
  options.passes = *parse_passes(passes);
  options.memory_limit.relative = 4;
  return options;
}

using Change = std::function<Result<PassResult>(const Graph&)>;
PassRegistry with_pass(const Change& change) {
  PassRegistry registry = PassRegistry::builtin();
  EXPECT_TRUE(registry.add({"mine", "a pass of the test", Form::graph, "",
                            [change](const Subject& subject, const PassContext&, PassArguments&) {
                              return change(std::get<Graph>(subject));
                            }}));
  return registry;
}

TEST(Compile, times_every_pass_and_says_what_it_did) {
  const auto compiled = compile(graph_of(two_matmuls), options_of("sink_waits,verify"));
  ASSERT_TRUE(compiled) << compiled.error().to_string();
  ASSERT_EQ(compiled->runs.size(), 2U);
  EXPECT_TRUE(compiled->runs[0].changed);
  EXPECT_GT(compiled->runs[0].time.count(), 0);
  EXPECT_FALSE(compiled->runs[1].changed);
  EXPECT_EQ(compiled->before.step_time, Nanoseconds::from_ns(40'000));
  EXPECT_EQ(compiled->after.step_time, Nanoseconds::from_ns(30'000));
  EXPECT_EQ(compiled->after.exposed, Nanoseconds::from_ns(10'000));
}

TEST(Compile, keeps_what_the_estimates_assumed) {
  const auto compiled = compile(graph_of("graph @g(%x: f32[4]) {\n  %y = mylib.odd(%x) : f32[4]\n  return %y\n}"),
                                options_of("sink_waits,verify"));
  ASSERT_TRUE(compiled) << compiled.error().to_string();
  EXPECT_THAT(compiled->assumptions, testing::ElementsAre(HasSubstr("mylib.odd.default is not in the operator table")));
}

TEST(Compile, leaves_out_what_is_switched_off) {
  CompileOptions options = options_of("sink_waits");
  options.off = {"sink_waits"};
  const auto compiled = compile(graph_of(two_matmuls), options);
  ASSERT_TRUE(compiled);
  EXPECT_TRUE(compiled->runs[0].skipped);
  EXPECT_EQ(compiled->after.step_time, compiled->before.step_time);
}

TEST(Compile, refuses_an_unsound_program_before_any_pass) {
  const auto compiled =
      compile(graph_of("graph @g(%x: f32[4]) { %y = aten.neg(%x) : f32[5]\n return %y }"), options_of("verify"));
  ASSERT_FALSE(compiled);
  EXPECT_EQ(compiled.error().kind, ErrorKind::input);
}

// A pass that puts the wait behind its use.
Result<PassResult> too_late(const Graph& graph) {
  std::vector<StepIndex> order = {0, 1, 3, 2, 4, 5};
  std::vector<NodeId> ids;
  for (const StepIndex step : order) ids.emplace_back(step);
  PassResult result;
  HOCKET_TRY(result.subject, with_order(graph, ids));
  result.order = order;
  return result;
}

TEST(Compile, finds_an_order_that_computes_something_else) {
  constexpr std::string_view text = R"(graph @g(%x: f32[4,4]) {
    group @dp = ranks[0,1]
    %sum = _c10d_functional.all_reduce_(%x, "sum", @dp)
    %done = _c10d_functional.wait_tensor(%sum)
    %y = aten.mm(%x, %x)
    %z = aten.mm(%y, %y)
    return %z
  })";
  const auto compiled = compile(graph_of(text), options_of("mine"), with_pass(too_late));
  ASSERT_FALSE(compiled);
  EXPECT_EQ(compiled.error().kind, ErrorKind::internal);
  EXPECT_THAT(compiled.error().to_string(), HasSubstr("y: wait: uses x"));
}

TEST(Compile, finds_a_peak_that_is_not_what_the_pass_claims) {
  const auto lies = [](const Graph& graph) -> Result<PassResult> {
    PassResult result;
    std::vector<NodeId> ids;
    for (std::size_t i = 0; i < graph.size(); ++i) ids.emplace_back(i);
    HOCKET_TRY(result.subject, with_order(graph, ids));
    result.peak = Bytes(1);
    return result;
  };
  const auto compiled = compile(graph_of(two_matmuls), options_of("mine"), with_pass(lies));
  ASSERT_FALSE(compiled);
  EXPECT_THAT(compiled.error().message, HasSubstr("the pass claims a peak of 1 bytes, the verifier counts 256"));
}

TEST(Compile, leaves_a_reproducer_that_replays_the_failure) {
  const TemporaryFolder temporary;
  const std::string& folder = temporary.path();
  const auto breaks = [](const Graph&) -> Result<PassResult> { return fail(ErrorKind::internal, "lost a node"); };
  CompileOptions options = options_of("sink_waits,mine");
  options.reproducer_folder = folder;
  const auto compiled = compile(graph_of(two_matmuls), options, with_pass(breaks));
  ASSERT_FALSE(compiled);
  EXPECT_THAT(compiled.error().to_string(), HasSubstr("pass mine: lost a node; this is a defect of hocket"));
  EXPECT_THAT(compiled.error().message, HasSubstr("--passes 'mine'"));
  ASSERT_EQ(std::distance(std::filesystem::directory_iterator(folder), {}), 1);
  const std::string path = std::filesystem::directory_iterator(folder)->path().string();
  EXPECT_THAT(compiled.error().message, HasSubstr("hocket opt " + path));
  // It holds what the failing pass was given: the graph after the pass before it.
  const auto given = compile(graph_of(two_matmuls), options_of("sink_waits"));
  const auto kept = read_graph(path);
  ASSERT_TRUE(kept) << kept.error().to_string();
  EXPECT_TRUE(*kept == *given->graph());
}

TEST(Compile, forgets_a_plan_when_the_order_changes) {
  for (std::uint64_t seed = 0; seed < 30; ++seed) {
    const Program program = random_program(seed, {.placed = true});
    const auto compiled = compile(program, options_of("raise_comms,sink_waits"));
    ASSERT_TRUE(compiled) << "seed " << seed << ": " << compiled.error().to_string();
    const bool changed = compiled->runs[0].changed || compiled->runs[1].changed;
    for (const Buffer& buffer : compiled->program()->buffers()) {
      const bool planned = buffer.home == Home::arena || buffer.home == Home::symmetric;
      EXPECT_TRUE(!changed || !planned || buffer.placed_at == -1) << "seed " << seed;
    }
  }
}

// ---------------------------------------------------------------- ranks

std::vector<Result<Compiled>> compile_on_ranks(const std::vector<Graph>& graphs, const CompileOptions& base) {
  LocalRanks ranks(static_cast<std::int64_t>(graphs.size()));
  std::vector<Result<Compiled>> results(graphs.size(), fail(ErrorKind::internal, "not run"));
  std::vector<std::thread> threads;
  for (std::size_t rank = 0; rank < graphs.size(); ++rank) {
    threads.emplace_back([&, rank] {
      CompileOptions options = base;
      options.all_ranks = &ranks.rank(static_cast<std::int64_t>(rank));
      results[rank] = compile(graphs[rank], options);
    });
  }
  for (std::thread& thread : threads) thread.join();
  return results;
}

std::string with_time(std::string_view time) {
  std::string text(two_matmuls);
  text.replace(text.find("0.02ms"), 6, time);
  return text;
}

TEST(Compile, ranks_with_different_estimates_decide_the_same) {
  const auto results =
      compile_on_ranks({graph_of(with_time("0.02ms")), graph_of(with_time("0.5ms")), graph_of(with_time("0.03ms"))},
                       options_of("reorder_compute_for_overlap,sink_waits_iterative"));
  for (const auto& result : results) {
    ASSERT_TRUE(result) << result.error().to_string();
    EXPECT_EQ(result->before.communication, Nanoseconds::from_ns(30'000));  // the median
    EXPECT_EQ(result->after.step_time, results[0]->after.step_time);
  }
}

TEST(Compile, ranks_with_different_programs_are_told_so) {
  const auto results =
      compile_on_ranks({graph_of(two_matmuls), graph_of("graph @g(%x: f32[4]) { return %x }")}, options_of("verify"));
  for (const auto& result : results) {
    ASSERT_FALSE(result);
    EXPECT_THAT(result.error().message, HasSubstr("rank"));
  }
}

}  // namespace
}  // namespace hocket
