// How far collectives can move, against following all constraints over light nodes.
#include "fuse/windows.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "hocket/ir/text.h"
#include "support/random_graph.h"

namespace hocket::fuse {
namespace {

// The first node of weight that has to come behind these, with only light ones between; the output where there is none.
std::uint32_t first_behind(const Graph& graph, const OrderConstraints& constraints, const Windows& windows,
                           const CommBlock& block) {
  std::set<NodeId> own(block.waits.begin(), block.waits.end());
  own.insert(block.getitems.begin(), block.getitems.end());
  std::vector<NodeId> open = block.waits;
  open.push_back(block.collective);
  std::set<NodeId> seen;
  auto first = static_cast<std::uint32_t>(graph.size() - 1);
  while (!open.empty()) {
    const NodeId at = open.back();
    open.pop_back();
    for (const NodeId later : constraints.after(at)) {
      if (own.contains(later) || !seen.insert(later).second) continue;
      if (windows.light(later)) open.push_back(later);
      else first = std::min(first, later.value);
    }
  }
  return first;
}

TEST(Windows, end_where_something_of_weight_needs_the_result) {
  std::size_t blocks = 0;
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    const Graph graph = random_graph(seed);
    const OrderConstraints constraints(graph);
    const Windows windows(graph, constraints, {});
    const Users users(graph);
    for (std::size_t i = 0; i < graph.size(); ++i) {
      if (graph.collective(NodeId(i)) == nullptr) continue;
      const auto block = find_block(graph, users, NodeId(i));
      if (!block) continue;
      ++blocks;
      EXPECT_EQ(windows.needed(*block), first_behind(graph, constraints, windows, *block)) << seed << " node " << i;
    }
  }
  EXPECT_GT(blocks, 100U);
}

TEST(Windows, end_at_the_output_where_nobody_needs_the_result) {
  const auto graph = parse_graph(R"(graph @g(%x: f32[4]) {
  group @dp = ranks[0,1]
  %all = _c10d_functional.all_gather_into_tensor(%x, 2, @dp)
  %done = _c10d_functional.wait_tensor(%all)
  %y = aten.relu(%x)
  return %y
})",
                                 "test");
  ASSERT_TRUE(graph) << graph.error().to_string();
  const OrderConstraints constraints(*graph);
  const Windows windows(*graph, constraints, {});
  const auto block = find_block(*graph, Users(*graph), NodeId(1));
  ASSERT_TRUE(block) << block.error().to_string();
  EXPECT_EQ(windows.needed(*block), graph->size() - 1);
}

}  // namespace
}  // namespace hocket::fuse
