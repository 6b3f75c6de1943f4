#include "hocket/torch/measure_step.h"

#include <gmock/gmock.h>

#include "hocket/cost/cost_model.h"
#include "hocket/ir/text.h"
#include "hocket/lower/lower.h"
#include "support/torch_ranks.h"

namespace hocket {
namespace {

using testing::HasSubstr;

Graph graph_of(const std::string& text) {
  const Result<Graph> graph = parse_graph(text, "test");
  EXPECT_TRUE(graph) << graph.error().to_string();
  return *graph;
}

constexpr const char* step = R"(graph @step(%text: i64[8], %table: f32[50,16], %w: f32[16,16]) {
  group @all = ranks[0,1]
  %x = aten.embedding(%table, %text)
  %y = aten.mm(%x, %w)
  %sum = _c10d_functional.all_reduce(%y, "sum", @all)
  %z = aten.relu(%x)
  %s = _c10d_functional.wait_tensor(%sum)
  %r = aten.add.Tensor(%s, %z)
  return %r
})";

TEST(MeasureStep, gives_all_ranks_a_time_for_every_kernel_and_collective_of_the_step) {
  std::vector<MeasuredStep> measured(2);
  const Graph graph = graph_of(step);
  on_ranks(2, [&](int rank) {
    auto one = measure_step(graph, World::current().value(), {.runs = 3});
    ASSERT_TRUE(one) << one.error().to_string();
    measured[static_cast<std::size_t>(rank)] = std::move(*one);
  });
  EXPECT_EQ(measured[0].profile.to_json(), measured[1].profile.to_json());
  EXPECT_EQ(measured[0].collectives, measured[1].collectives);
  ASSERT_TRUE(measured[0].collectives);
  EXPECT_EQ(measured[0].runs.size(), 3U);
  const CostModel cost({.captured = false, .profile = measured[0].profile});
  const Program program = lower(graph).value().program;
  const Estimates estimates = cost.estimate(program);
  std::size_t kernels = 0;
  for (std::size_t i = 0; i < program.size(); ++i) {
    if (program.collective(StepId(i)) != nullptr || estimates.sources[i] == TimeSource::nothing) continue;
    EXPECT_EQ(estimates.sources[i], TimeSource::profile_call) << program.name(StepId(i));
    EXPECT_GT(estimates.times[i], Nanoseconds()) << program.name(StepId(i));
    ++kernels;
  }
  EXPECT_EQ(kernels, 4U);
}

TEST(MeasureStep, refuses_what_libtorch_can_not_run_here) {
  on_ranks(1, [](int) {
    const World world = World::current().value();
    const auto elsewhere =
        measure_step(graph_of("graph @g(%x: f32[4] on \"cuda:0\") {\n  %y = aten.neg(%x)\n  return %y\n}"), world);
    ASSERT_FALSE(elsewhere);
    EXPECT_THAT(elsewhere.error().to_string(), HasSubstr("is on cuda:0"));
    const auto symbolic = measure_step(graph_of("graph @g(%x: f32[s0]) {\n  %y = aten.neg(%x)\n  return %y\n}"), world);
    ASSERT_FALSE(symbolic);
    EXPECT_THAT(symbolic.error().to_string(), HasSubstr("symbolic"));
  });
}

}  // namespace
}  // namespace hocket
