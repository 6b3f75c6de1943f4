#include "torch/replay.h"

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "hocket/ir/text.h"

namespace hocket {
namespace {

using ::testing::HasSubstr;
using Tensors = std::vector<at::Tensor>;

Graph graph_of(const char* text) {
  Result<Graph> graph = parse_graph(text, "test");
  if (!graph) throw std::runtime_error(graph.error().to_string());
  return std::move(*graph);
}

TEST(Replay, RunsAGraphThatWasWrittenAsText) {
  const Graph graph = graph_of(R"(
    graph @g(%x: f32[2,2]) {
      %half = aten.mul.Tensor(%x, 0.5) : f32[2,2]
      %max = aten.max.dim(%half, 1) : (f32[2], i64[2])
      %top = getitem(%max, 0) : f32[2]
      %ones = aten.ones([2], dtype=f64, device=device("cpu")) : f64[2]
      %sum = aten.add.Tensor(%top, %ones, alpha=2) : f64[2]
      return %sum, %half
    })");
  const auto results = replay(graph, {at::tensor({1.0F, 2.0F, 3.0F, 4.0F}).view({2, 2})});
  ASSERT_TRUE(results) << results.error().to_string();
  EXPECT_TRUE(results->at(0).equal(at::tensor({3.0, 4.0})));
  EXPECT_EQ(results->at(1).scalar_type(), at::kFloat);  // 0.5 is a number, not a tensor of doubles
}

TEST(Replay, WritesIntoItsInputsAsTheGraphSays) {
  const Graph graph = graph_of(R"(
    graph @g(%x: f32[3]) {
      %add_ = aten.add_.Tensor(%x, 1) : f32[3]
      return ()
    })");
  const at::Tensor x = at::ones({3});
  ASSERT_TRUE(replay(graph, {x}));
  EXPECT_TRUE(x.equal(at::full({3}, 2.0)));
}

TEST(Replay, CollectivesAmongOneRankCopyTheirInput) {
  const Graph graph = graph_of(R"(
    graph @g(%x: f32[3]) {
      group @dp = ranks[0]
      %sum = _c10d_functional.all_reduce(%x, "sum", @dp) : f32[3]
      %y = _c10d_functional.wait_tensor(%sum) : f32[3]
      return %y
    })");
  const at::Tensor x = at::ones({3});
  const auto results = replay(graph, {x});
  ASSERT_TRUE(results) << results.error().to_string();
  EXPECT_TRUE(results->at(0).equal(x));
  EXPECT_FALSE(results->at(0).is_alias_of(x));
}

TEST(Replay, SaysWhatIsWrong) {
  const auto message = [](const char* text, const Tensors& inputs) {
    const auto results = replay(graph_of(text), inputs);
    return results ? "no error" : results.error().to_string();
  };
  EXPECT_THAT(message("graph @g(%x: f32[3]) { return %x }", {}),
              HasSubstr("node x: no tensor was given for this input"));
  EXPECT_THAT(message("graph @g() { return () }", {at::ones({1})}), HasSubstr("1 inputs were given, the graph has 0"));
  EXPECT_THAT(message("graph @g() { %a = attribute : f32[1] return %a }", {}),
              HasSubstr("no tensor was given for this attribute"));
  EXPECT_THAT(message("graph @g(%x: f32[3]) { %y = mine.op(%x) : f32[3] return %y }", {at::ones({3})}),
              HasSubstr("node y: libtorch has no operator mine.op.default"));
  EXPECT_THAT(message("graph @g(%x: f32[3]) { %y = aten.mm(%x) : f32[3] return %y }", {at::ones({3})}),
              HasSubstr("argument mat2 of aten.mm.default is missing"));
  EXPECT_THAT(message(R"(
    graph @g(%x: f32[3]) {
      group @dp = ranks[0,1]
      %sum = _c10d_functional.all_reduce(%x, "sum", @dp) : f32[3]
      %y = _c10d_functional.wait_tensor(%sum) : f32[3]
      return %y
    })",
                      {at::ones({3})}),
              HasSubstr("group dp has 2 ranks; replay runs one rank and can't communicate"));
}

}  // namespace
}  // namespace hocket
