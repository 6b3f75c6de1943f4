#include "hocket/ir/rewrite.h"

#include <gtest/gtest.h>

#include "hocket/ir/file.h"
#include "hocket/ir/text.h"
#include "hocket/ir/verify.h"
#include "support/captures.h"
#include "support/random_graph.h"

namespace hocket {
namespace {

Graph parsed(const char* text) { return parse_graph(text, "test.hk").value(); }

Result<Graph> copy_of(const Graph& graph) {
  GraphRewriter rewriter(graph);
  for (std::size_t i = 0; i < graph.size(); ++i) rewriter.copy(NodeId(i));
  return rewriter.finish();
}

TEST(GraphRewriter, a_copy_of_a_capture_equals_it) {
  for (const std::string& path : shipped_captures()) {
    const Graph graph = read_graph(path).value();
    const Result<Graph> copy = copy_of(graph);
    ASSERT_TRUE(copy) << copy.error().to_string();
    EXPECT_EQ(Graph::first_difference(graph, *copy), "") << path;
    EXPECT_EQ(graph.digest(), copy->digest()) << path;
  }
}

TEST(GraphRewriter, a_copy_of_a_random_graph_equals_it) {
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    const Graph graph = random_graph(seed);
    const Result<Graph> copy = copy_of(graph);
    ASSERT_TRUE(copy) << "seed " << seed << ": " << copy.error().to_string();
    EXPECT_EQ(Graph::first_difference(graph, *copy), "") << "seed " << seed;
  }
}

constexpr const char* with_views = R"(graph @g(%x: f32[4,2]) {
  %t = aten.permute(%x, [1, 0]) : f32[2,4] strides[1,2]
  %r = aten.relu(%t) : f32[2,4] strides[1,2]
  %v = aten.permute(%r, [1, 0]) : f32[4,2]
  %w = aten.unsqueeze(%v, 0) : f32[1,4,2]
  %z = aten.neg(%w) : f32[1,4,2]
  return %z
}
)";

TEST(GraphRewriter, a_second_copy_lies_in_memory_of_its_own_and_its_views_beside_it) {
  const Graph graph = parsed(with_views);
  GraphRewriter rewriter(graph);
  EXPECT_FALSE(rewriter.now(*graph.find("r")).valid());
  for (std::size_t i = 0; i < graph.size(); ++i) {
    if (NodeId(i) == *graph.find("z")) {
      for (const char* name : {"r", "v", "w"}) rewriter.copy_again(*graph.find(name), "second");
    }
    rewriter.copy(NodeId(i));
  }
  const Result<Graph> changed = rewriter.finish();
  ASSERT_TRUE(changed) << changed.error().to_string();
  const auto storage = [&](const char* name) { return changed->outputs(*changed->find(name))[0].storage; };
  EXPECT_NE(storage("second"), storage("r"));
  EXPECT_EQ(storage("second_1"), storage("second"));
  EXPECT_EQ(storage("second_2"), storage("second"));
  EXPECT_EQ(changed->inputs(*changed->find("z"))[0], *changed->find("second_2"));
  EXPECT_EQ(storage("v"), storage("r")) << "the first one's view stays";
  EXPECT_TRUE(verify(*changed).empty());
}

TEST(GraphRewriter, a_second_copy_needs_a_first) {
  const Graph graph = parsed(with_views);
  GraphRewriter rewriter(graph);
  EXPECT_FALSE(rewriter.copy_again(*graph.find("r"), "second").valid());
  EXPECT_FALSE(rewriter.finish());
}

TEST(GraphRewriter, views_of_a_replaced_value_follow_it_to_its_storage_and_layout) {
  const Graph graph = parsed(with_views);
  GraphRewriter rewriter(graph);
  const NodeId replaced = *graph.find("r");
  for (std::size_t i = 0; i < graph.size(); ++i) {
    rewriter.copy(NodeId(i));
    if (NodeId(i) != replaced) continue;
    const NodeId dense =
        rewriter.op("aten.clone", {rewriter.now(replaced)}, "dense",
                    {{"memory_format", rewriter.builder().text(ArgKind::memory_format, "contiguous_format")}});
    rewriter.replace(replaced, dense);
  }
  const Result<Graph> changed = rewriter.finish();
  ASSERT_TRUE(changed) << changed.error().to_string();
  EXPECT_EQ(print(*changed), R"(graph @g(%x: f32[4,2]) {
  %t = aten.permute(%x, [1, 0]) : f32[2,4] strides[1,2]
  %r = aten.relu(%t) : f32[2,4] strides[1,2]
  %dense = aten.clone(%r, memory_format=memory_format("contiguous_format")) : f32[2,4]
  %v = aten.permute(%dense, [1, 0]) : f32[4,2] strides[1,4]
  %w = aten.unsqueeze(%v, 0) : f32[1,4,2] strides[4,1,4]
  %z = aten.neg(%w) : f32[1,4,2]
  return %z
}
)");
  EXPECT_TRUE(verify(*changed).empty());
}

// Neither operator has a row in the table: what their results are views of is the capture's word.
constexpr const char* with_unknown_writers = R"(graph @g(%x: f32[4,2]) {
  %r = aten.relu(%x) : f32[4,2]
  %all = mylib.fill(%r) : f32[4,2] {view_of=%r, mutates=[%r]}
  %half = mylib.row(%all) : f32[2] offset 2 {view_of=%all}
  return %all, %half
}
)";

TEST(GraphRewriter, views_by_unknown_operators_follow_a_replaced_value_too) {
  const Graph graph = parsed(with_unknown_writers);
  const NodeId replaced = *graph.find("r");
  GraphRewriter rewriter(graph);
  for (std::size_t i = 0; i < graph.size(); ++i) {
    if (NodeId(i) != replaced) {
      rewriter.copy(NodeId(i));
      continue;
    }
    const NodeId pool = rewriter.op("aten.new_empty", {rewriter.now(NodeId(0)), ArgInit({8, 2})}, "pool");
    rewriter.replace(replaced, rewriter.op("aten.slice.Tensor", {pool, 0, 4, 8}, "part"));
  }
  const Result<Graph> changed = rewriter.finish();
  ASSERT_TRUE(changed) << changed.error().to_string();
  EXPECT_TRUE(verify(*changed).empty());
  EXPECT_EQ(print(*changed), R"(graph @g(%x: f32[4,2]) {
  %pool = aten.new_empty(%x, [8, 2]) : f32[8,2]
  %part = aten.slice.Tensor(%pool, 0, 4, 8) : f32[4,2] offset 8
  %all = mylib.fill(%part) : f32[4,2] offset 8 {view_of=%part, mutates=[%part]}
  %half = mylib.row(%all) : f32[2] offset 10 {view_of=%all}
  return %all, %half
}
)");
}

TEST(GraphRewriter, a_wait_of_a_replaced_collective_waits_for_the_new_one) {
  const Graph graph = parsed(R"(graph @g(%x: f32[4]) {
  group @dp = ranks[0,1]
  %s = _c10d_functional.all_reduce(%x, "sum", @dp)
  %w = _c10d_functional.wait_tensor(%s)
  return %w
}
)");
  GraphRewriter rewriter(graph);
  const NodeId old = *graph.find("s");
  for (std::size_t i = 0; i < graph.size(); ++i) {
    if (NodeId(i) != old) {
      rewriter.copy(NodeId(i));
      continue;
    }
    const auto args = graph.args(old);
    rewriter.replace(old, rewriter.op("_c10d_functional.all_reduce",
                                      {rewriter.now(args[0].as_node()), "max", ArgInit(args[2])}, "s"));
  }
  const Result<Graph> changed = rewriter.finish();
  ASSERT_TRUE(changed) << changed.error().to_string();
  EXPECT_EQ(changed->name(changed->node(*changed->find("w")).wait_of), "s_1");
  EXPECT_TRUE(verify(*changed).empty());
}

TEST(GraphRewriter, a_collective_whose_inputs_have_become_one_takes_it_once) {
  const Graph graph = parsed(R"(graph @g(%x: f32[8]) {
  group @dp = ranks[0,1]
  %same = aten.clone(%x) : f32[8]
  %sums = _c10d_functional.all_reduce_coalesced([%x, %same], "sum", @dp) : (f32[8], f32[8])
  %a = getitem(%sums, 0) : f32[8]
  %y = _c10d_functional.wait_tensor(%a) : f32[8]
  return %y
}
)");
  GraphRewriter rewriter(graph);
  const NodeId clone = *graph.find("same");
  for (std::size_t i = 0; i < graph.size(); ++i) {
    if (NodeId(i) == clone) rewriter.replace(clone, rewriter.now(*graph.find("x")));
    else rewriter.copy(NodeId(i));
  }
  const Result<Graph> rewritten = rewriter.finish();
  ASSERT_TRUE(rewritten) << rewritten.error().to_string();
  const Collective* collective = rewritten->collective(*rewritten->find("sums"));
  ASSERT_NE(collective, nullptr);
  EXPECT_EQ(collective->bytes_in, Bytes(32));
  EXPECT_EQ(collective->bytes_out, Bytes(64));
  EXPECT_EQ(rewritten->node(*rewritten->find("y")).wait_of, *rewritten->find("sums"));
  EXPECT_TRUE(verify(*rewritten).empty()) << verify(*rewritten)[0].to_string();
}

TEST(GraphRewriter, gives_new_nodes_names_that_neither_graph_has) {
  const Graph graph = parsed("graph @g(%x: f32[4]) {\n  %x_1 = aten.relu(%x)\n  return %x_1\n}\n");
  GraphRewriter rewriter(graph);
  EXPECT_EQ(rewriter.unique_name("x"), "x_2");
  EXPECT_EQ(rewriter.unique_name("x"), "x_3");
  EXPECT_EQ(rewriter.unique_name("y"), "y");
}

TEST(GraphRewriter, keeps_the_first_mistake) {
  const Graph graph = parsed("graph @g(%x: f32[4]) {\n  %a = aten.relu(%x)\n  %b = aten.relu(%a)\n  return %b\n}\n");
  GraphRewriter early(graph);
  early.copy(*graph.find("x"));
  early.copy(*graph.find("b"));
  EXPECT_EQ(early.finish().error().to_string(), "rewriting node b: uses a, which is not there yet");
  GraphRewriter twice(graph);
  twice.copy(*graph.find("x"));
  twice.copy(*graph.find("x"));
  EXPECT_EQ(twice.finish().error().to_string(), "rewriting node x: is there already");
  GraphRewriter wrong(graph);
  wrong.copy(*graph.find("x"));
  wrong.op("aten.mm", {wrong.now(*graph.find("x")), 3}, "mm");
  wrong.copy(*graph.find("b"));
  EXPECT_EQ(wrong.finish().error().where, "node mm");
}

TEST(WithOrder, puts_nodes_into_another_order_and_nothing_else) {
  const Graph graph = parsed("graph @g(%x: f32[4]) {\n  %a = aten.relu(%x)\n  %b = aten.neg(%x)\n  return %a, %b\n}\n");
  const Result<Graph> swapped = with_order(graph, std::vector<NodeId>{NodeId(0), NodeId(2), NodeId(1), NodeId(3)});
  ASSERT_TRUE(swapped) << swapped.error().to_string();
  EXPECT_EQ(
      print(*swapped),
      "graph @g(%x: f32[4]) {\n  %b = aten.neg(%x) : f32[4]\n  %a = aten.relu(%x) : f32[4]\n  return %a, %b\n}\n");
  const std::vector<NodeId> same = {NodeId(0), NodeId(1), NodeId(2), NodeId(3)};
  EXPECT_EQ(with_order(graph, same).value(), graph);
}

TEST(WithOrder, refuses_what_is_no_order) {
  const Graph graph = parsed("graph @g(%x: f32[4]) {\n  %a = aten.relu(%x)\n  return %a\n}\n");
  EXPECT_FALSE(with_order(graph, std::vector<NodeId>{NodeId(0), NodeId(1)}));
  EXPECT_FALSE(with_order(graph, std::vector<NodeId>{NodeId(0), NodeId(1), NodeId(7)}));
  EXPECT_FALSE(with_order(graph, std::vector<NodeId>{NodeId(0), NodeId(2), NodeId(1)}));
  EXPECT_FALSE(with_order(graph, std::vector<NodeId>{NodeId(0), NodeId(1), NodeId(1)}));
}

}  // namespace
}  // namespace hocket
