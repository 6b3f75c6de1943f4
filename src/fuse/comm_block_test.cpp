#include "hocket/fuse/comm_block.h"

#include <gtest/gtest.h>

#include "hocket/ir/text.h"

namespace hocket {
namespace {

Graph graph_of(const std::string& body) {
  return parse_graph("graph @g(%x: f32[8,4], %y: f32[4]) {\n  group @dp = ranks[0,1]\n" + body + "}\n", "test.hk")
      .value();
}

std::vector<std::string> names(const Graph& graph, const std::vector<NodeId>& nodes) {
  std::vector<std::string> all;
  for (const NodeId id : nodes) all.emplace_back(graph.name(id));
  return all;
}

using Names = std::vector<std::string>;

TEST(CommBlock, is_a_collective_its_wait_and_the_tail_that_reshapes) {
  const Graph graph = graph_of(
      "  %s = _c10d_functional.all_reduce(%x, \"sum\", @dp)\n  %w = _c10d_functional.wait_tensor(%s)\n"
      "  %p = aten.split.Tensor(%w, 4)\n  %a = getitem(%p, 0)\n  %b = getitem(%p, 1)\n"
      "  %r = aten.reshape(%a, [16])\n  %u = aten.relu(%r)\n  %v = aten.relu(%b)\n  return %u, %v, %r\n");
  const auto block = find_block(graph, Users(graph), *graph.find("s"));
  ASSERT_TRUE(block) << block.error().to_string();
  EXPECT_EQ(names(graph, block->inputs), Names({"x"}));
  EXPECT_EQ(names(graph, block->waits), Names({"w"}));
  EXPECT_EQ(names(graph, block->tail), Names({"p", "a", "b", "r"}));
  EXPECT_EQ(names(graph, block->outputs), Names({"b", "r"}));
}

TEST(CommBlock, of_a_coalesced_collective_has_a_wait_for_each_getitem) {
  const Graph graph = graph_of(
      "  %s = _c10d_functional.all_reduce_coalesced([%x, %y], \"sum\", @dp)\n"
      "  %a = getitem(%s, 0)\n  %b = getitem(%s, 1)\n"
      "  %v = _c10d_functional.wait_tensor(%a)\n  %w = _c10d_functional.wait_tensor(%b)\n  return %v, %w\n");
  const auto block = find_block(graph, Users(graph), *graph.find("s"));
  ASSERT_TRUE(block) << block.error().to_string();
  EXPECT_EQ(names(graph, block->inputs), Names({"x", "y"}));
  EXPECT_EQ(names(graph, block->getitems), Names({"a", "b"}));
  EXPECT_EQ(names(graph, block->waits), Names({"v", "w"}));
  EXPECT_EQ(names(graph, block->outputs), Names({"v", "w"}));
}

std::string reason(const std::string& body) {
  const Graph graph = graph_of(body);
  return find_block(graph, Users(graph), *graph.find("s")).error().message;
}

TEST(CommBlock, says_why_there_is_none) {
  const std::string reduce = "  %s = _c10d_functional.all_reduce(%x, \"sum\", @dp)\n";
  const std::string wait = "  %w = _c10d_functional.wait_tensor(%s)\n";
  EXPECT_EQ(reason("  %s = aten.relu(%x)\n  return %s\n"), "it does not communicate");
  EXPECT_EQ(reason(reduce + "  return %x\n"), "its result is not used");
  EXPECT_EQ(reason(reduce + wait + "  %v = aten.view(%s, [32])\n  return %w, %v\n"),
            "its result is used by 2 nodes, expected one wait");
  EXPECT_EQ(reason(reduce + "  %v = aten.view(%s, [32])\n  %w = _c10d_functional.wait_tensor(%v)\n  return %w\n"),
            "its result is used by v, which is no wait");
  const std::string list =
      "  %s = _c10d_functional.all_reduce_coalesced([%x, %y], \"sum\", @dp)\n  %a = getitem(%s, 0)\n";
  EXPECT_EQ(reason(list + "  return %x\n"), "its result a is never waited for");
  EXPECT_EQ(
      reason(list +
             "  %w = _c10d_functional.wait_tensor(%a)\n  %v = _c10d_functional.wait_tensor(%a)\n  return %w, %v\n"),
      "its result a has 2 waits, expected one");
  EXPECT_EQ(reason(list + "  %w = _c10d_functional.wait_tensor(%a)\n  %v = aten.view(%a, [32])\n  return %w, %v\n"),
            "its result a is used by v, which is no wait");
}

}  // namespace
}  // namespace hocket
