#include "hocket/ir/order_constraints.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "hocket/ir/text.h"
#include "hocket/ir/verify.h"
#include "support/random.h"
#include "support/random_graph.h"

namespace hocket {
namespace {

std::vector<std::string> before(const Graph& graph, const char* name) {
  std::vector<std::string> names;
  const OrderConstraints constraints(graph);
  for (const NodeId id : constraints.before(*graph.find(name))) names.emplace_back(graph.name(id));
  return names;
}

using Names = std::vector<std::string>;

TEST(OrderConstraints, a_write_comes_after_every_earlier_access_and_before_every_later_one) {
  const Graph graph = parse_graph(
                          "graph @g(%x: f32[4], %y: f32[4]) {\n  %a = aten.relu(%x)\n  %v = aten.view(%x, [2,2])\n"
                          "  %w = aten.copy_(%x, %y)\n  %b = aten.relu(%v)\n  return %a, %b\n}\n",
                          "test.hk")
                          .value();
  EXPECT_EQ(before(graph, "w"), Names({"x", "y", "a", "v"}));
  EXPECT_EQ(before(graph, "b"), Names({"v", "w"}));
}

TEST(OrderConstraints, a_wait_keeps_writes_of_what_is_in_flight_behind_it) {
  const Graph graph =
      parse_graph(
          "graph @g(%x: f32[4], %y: f32[4]) {\n  group @dp = ranks[0,1]\n"
          "  %s = _c10d_functional.all_reduce(%x, \"sum\", @dp)\n  %d = _c10d_functional.wait_tensor(%s)\n"
          "  %w = aten.copy_(%x, %y)\n  return %d\n}\n",
          "test.hk")
          .value();
  EXPECT_EQ(before(graph, "w"), Names({"x", "y", "s", "d"}));
}

TEST(OrderConstraints, what_a_collective_writes_is_there_from_its_wait_on_also_where_it_is_no_result) {
  const Graph graph = parse_graph(
                          "graph @g(%x: f32[4], %y: f32[4]) {\n  group @dp = ranks[0,1]\n"
                          "  %s = _c10d_functional.batch_p2p_ops([\"isend\", \"irecv\"], [1, 1], [1, 1], [%x, %y], "
                          "@dp) : (f32[0] of new, "
                          "f32[4]) {view_of=%y}\n"
                          "  %r = getitem(%s, 1) : f32[4]\n  %d = _c10d_functional.wait_tensor(%r) : f32[4]\n"
                          "  %a = aten.relu(%x)\n  return %a, %d\n}\n",
                          "test.hk")
                          .value();
  EXPECT_EQ(before(graph, "a"), Names({"x", "s", "d"}));
}

TEST(OrderConstraints, an_opaque_operator_is_a_barrier) {
  const Graph graph = parse_graph(
                          "graph @g(%x: f32[4]) {\n  %a = aten.relu(%x)\n  %o = mylib.thing(%x) : f32[4]\n"
                          "  %b = aten.relu(%x)\n  return %a, %b\n}\n",
                          "test.hk")
                          .value();
  EXPECT_EQ(before(graph, "o"), Names({"x", "a"}));
  EXPECT_EQ(before(graph, "b"), Names({"x", "o"}));
}

// Any order that keeps the constraints, and the collectives of a group in line, is one that the verifier accepts.
TEST(OrderConstraints, every_order_that_keeps_them_computes_the_same) {
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    const Graph graph = random_graph(seed);
    const OrderConstraints constraints(graph);
    Random random(seed);
    std::vector<std::size_t> missing(graph.size());
    std::vector<NodeId> ready;
    std::vector<NodeId> order;
    for (std::size_t i = 0; i < graph.size(); ++i) {
      missing[i] = constraints.before(NodeId(i)).size();
      if (missing[i] == 0 && i + 1 < graph.size()) ready.emplace_back(i);
    }
    while (!ready.empty()) {
      std::swap(ready[random.index(ready.size())], ready.back());
      const NodeId next = ready.back();
      ready.pop_back();
      order.push_back(next);
      for (const NodeId later : constraints.after(next)) {
        if (--missing[later.index()] == 0 && later.index() + 1 < graph.size()) ready.push_back(later);
      }
    }
    order.emplace_back(graph.size() - 1);
    const auto problems = verify_order(graph, order, {.keep_collective_order = false});
    EXPECT_TRUE(problems.empty()) << "seed " << seed << ": " << problems.front().to_string();
  }
}

}  // namespace
}  // namespace hocket
