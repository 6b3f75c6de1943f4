#include "ir/effects.h"

#include <gtest/gtest.h>

#include "hocket/ir/text.h"

namespace hocket {
namespace {

Graph graph_of(std::string_view text) {
  auto graph = parse_graph(text, "test");
  EXPECT_TRUE(graph) << graph.error().to_string();
  return std::move(*graph);
}

// A graph of two inputs and one call, named %r.
Graph graph_with(const std::string& call) {
  return graph_of("graph @g(%x: f32[4,6], %y: f32[4,6], %o: f32[8,6]) {\n  group @dp = ranks[0,1]\n  " + call +
                  "\n  return %x\n}");
}

std::string view_of(const std::string& call) {
  const Graph graph = graph_with(call);
  const NodeId source = effects_by_row(graph, *graph.find("r")).view_of;
  return source.valid() ? std::string(graph.name(source)) : "nothing";
}

std::vector<std::string> mutated_by(const std::string& call) {
  const Graph graph = graph_with(call);
  std::vector<std::string> names;
  for (const NodeId node : effects_by_row(graph, *graph.find("r")).mutates) names.emplace_back(graph.name(node));
  return names;
}

TEST(EffectsByRow, say_what_a_result_is_a_view_of) {
  EXPECT_EQ(view_of("%r = aten.relu(%x)"), "nothing");
  EXPECT_EQ(view_of("%r = aten.permute(%x, [1, 0])"), "x");
  EXPECT_EQ(view_of("%r = aten.copy_(%x, %y)"), "x");
  EXPECT_EQ(view_of("%r = _c10d_functional.all_gather_into_tensor_out(%x, 2, @dp, out=%o)"), "o");
  EXPECT_EQ(view_of("%r = _c10d_functional.all_reduce_coalesced_([%y, %x], \"sum\", @dp)"), "y");
  EXPECT_EQ(view_of("%r = mylib.op(%x) : f32[4]"), "nothing");
}

TEST(EffectsByRow, take_the_argument_that_the_row_names) {
  EXPECT_EQ(
      view_of(
          "%b = aten.view(%o, [48])\n %f = aten.view(%x, [24])\n  %r = fsdp.all_gather_copy_in([%f], %b, [24], 24, 0)"),
      "b");
}

TEST(EffectsByRow, tell_views_from_copies_by_the_layout) {
  EXPECT_EQ(view_of("%r = aten.reshape(%x, [24])"), "x");
  EXPECT_EQ(view_of("%t = aten.permute(%x, [1, 0])\n  %r = aten.reshape(%t, [24])"), "nothing");
  EXPECT_EQ(view_of("%t = aten.permute(%x, [1, 0])\n  %r = aten.reshape(%t, [6, 2, 2])"),
            "t");  // splits a dim: still a view
  EXPECT_EQ(view_of("%r = aten.contiguous(%x)"), "x");
  EXPECT_EQ(view_of("%t = aten.permute(%x, [1, 0])\n  %r = aten.contiguous(%t)"), "nothing");
  EXPECT_EQ(view_of("%r = aten.to.dtype(%x, f32)"), "x");
  EXPECT_EQ(view_of("%r = aten.to.dtype(%x, f64)"), "nothing");
}

TEST(EffectsByRow, say_what_a_call_writes) {
  EXPECT_TRUE(mutated_by("%r = aten.add.Tensor(%x, %y)").empty());
  EXPECT_EQ(mutated_by("%r = aten.add_.Tensor(%x, %y)"), (std::vector<std::string>{"x"}));
  EXPECT_EQ(mutated_by("%r = _c10d_functional.all_reduce_coalesced_([%y, %x, %y], \"sum\", @dp)"),
            (std::vector<std::string>{"y", "x"}));
  EXPECT_EQ(mutated_by("%r = _c10d_functional.reduce_scatter_tensor_out(%o, \"sum\", 2, @dp, out=%x)"),
            (std::vector<std::string>{"x"}));
}

TEST(EffectsByRow, say_how_a_call_communicates) {
  const Graph graph = graph_with("%r = _c10d_functional.all_gather_into_tensor_out(%x, 2, @dp, out=%o)");
  const auto collective = effects_by_row(graph, *graph.find("r")).collective;
  ASSERT_TRUE(collective);
  EXPECT_EQ(collective->kind, CollectiveKind::all_gather);
  EXPECT_EQ(collective->bytes_in, Bytes(96));  // without the preallocated result
  EXPECT_EQ(collective->bytes_out, Bytes(192));
  const Graph silent = graph_with("%r = aten.relu(%x)");
  EXPECT_FALSE(effects_by_row(silent, *silent.find("r")).collective);
}

TEST(AwaitedBy, follows_views_to_the_collective) {
  const Graph graph = graph_of(R"(
    graph @g(%x: f32[4], %y: f32[4]) {
      group @dp = ranks[0,1]
      %c = _c10d_functional.all_reduce_coalesced([%x, %y], "sum", @dp)
      %a = getitem(%c, 1)
      %v = aten.view(%a, [2, 2])
      %w = _c10d_functional.wait_tensor(%v)
      %again = _c10d_functional.wait_tensor(%w)
      %input = _c10d_functional.wait_tensor(%x)
      return %w
    })");
  EXPECT_EQ(awaited_by(graph, *graph.find("w")), *graph.find("c"));
  EXPECT_EQ(awaited_by(graph, *graph.find("again")), *graph.find("c"));
  EXPECT_FALSE(awaited_by(graph, *graph.find("input")).valid());
}

TEST(AwaitedBy, ends_on_views_in_a_circle) {
  const Graph graph = graph_of(R"(
    graph @g(%x: f32[4]) {
      %a = aten.alias(%b) : f32[4]
      %b = aten.alias(%a) : f32[4]
      %w = _c10d_functional.wait_tensor(%a) : f32[4]
      return %w
    })");
  EXPECT_FALSE(awaited_by(graph, *graph.find("w")).valid());
}

TEST(SharedOutput, of_a_getitem_is_the_element_that_it_names) {
  const Graph graph = graph_of(R"(
    graph @g(%x: f32[4]) {
      %p = aten.sort(%x)
      %q = getitem(%p, 1)
      return %q
    })");
  const OutputRef shared = shared_output(graph, *graph.find("q"), 0);
  EXPECT_EQ(shared.node, *graph.find("p"));
  EXPECT_EQ(shared.index, 1U);
}

TEST(SharedOutput, of_an_operator_with_a_mask_counts_the_results_that_are_there) {
  const Graph graph = graph_of(R"(
    graph @g(%grad: f32[1,2,4,4], %x: f32[1,3,4,4], %w: f32[2,3,1,1]) {
      %p = aten.convolution_backward(%grad, %x, %w, [0], [1, 1], [0, 0], [1, 1], false, [0, 0], 1, [false, true, false]) : (f32[2,3,1,1],)
      %q = getitem(%p, 1)
      return %q
    })");
  EXPECT_EQ(graph.outputs(*graph.find("q"))[0].storage, graph.outputs(*graph.find("p"))[0].storage);
}

TEST(FartherReach, takes_the_larger_and_prefers_the_symbolic) {
  SymbolTable symbols;
  const std::vector<Dim> four = {4};
  const std::vector<Dim> one = {1};
  const std::vector<Dim> symbolic = {*symbols.parse("s0")};
  const TypeView small{Dtype::f32, four, one, 0};
  EXPECT_EQ(farther_reach(0, small, symbols), Dim(16));
  EXPECT_EQ(farther_reach(100, small, symbols), Dim(100));
  EXPECT_EQ(farther_reach(100, {Dtype::f32, symbolic, one, 0}, symbols), *symbols.parse("4*s0"));
  EXPECT_EQ(farther_reach(*symbols.parse("4*s0"), small, symbols), *symbols.parse("4*s0"));
}

}  // namespace
}  // namespace hocket
