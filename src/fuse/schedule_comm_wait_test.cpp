#include "hocket/fuse/schedule_comm_wait.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "fuse/reference.h"
#include "hocket/fuse/comm_block.h"
#include "hocket/fuse/ddp.h"
#include "hocket/ir/file.h"
#include "support/captures.h"
#include "support/random_graph.h"
#include "support/soundness.h"

namespace hocket {
namespace {

TEST(ScheduleCommWait, is_an_order_of_the_same_program) {
  std::size_t moved = 0;
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    const Graph graph = random_graph(seed);
    const auto changed = schedule_comm_wait(graph);
    ASSERT_TRUE(changed) << "seed " << seed << ": " << changed.error().to_string();
    if (!changed->graph) continue;
    ++moved;
    EXPECT_EQ(problems_of(*changed->graph), "") << "seed " << seed;
    const auto problems = verify_order(graph, order_in(graph, *changed->graph));
    EXPECT_TRUE(problems.empty()) << "seed " << seed << ": " << problems.front().to_string();
  }
  EXPECT_GT(moved, 50U);
}

Graph fused_ddp() {
  const Result<Graph> graph = read_graph(HOCKET_TEST_DATA "/ddp_gpt2_12l.json.gz");
  return fuse_ddp_with_concat(graph.value()).value().graph.value();
}

// These graphs only read, so there is nothing but users to wait for.
TEST(ScheduleCommWait, waits_stand_right_before_their_first_user) {
  std::vector<Graph> graphs = {fused_ddp()};
  for (const std::string& path : shipped_captures()) graphs.push_back(read_graph(path).value());
  for (const Graph& graph : graphs) {
    auto changed = schedule_comm_wait(graph);
    ASSERT_TRUE(changed) << graph.name();
    const Graph& now = changed->graph ? *changed->graph : graph;
    const Users users(now);
    for (std::size_t i = 0; i < now.size(); ++i) {
      if (now.collective(NodeId(i)) == nullptr) continue;
      const auto block = find_block(now, users, NodeId(i));
      ASSERT_TRUE(block);
      NodeId first(now.size());
      for (const NodeId output : block->outputs) {
        for (const NodeId user : users.of(output)) {
          if (!std::binary_search(block->tail.begin(), block->tail.end(), user)) first = std::min(first, user);
        }
      }
      // Between the wait and its first user stand only waits and tails of this and other blocks.
      for (std::size_t k = block->wait().index(); k < first.index(); ++k) {
        EXPECT_TRUE(now.node(NodeId(k)).view_of.valid()) << now.name() << ": " << now.name(NodeId(k));
      }
    }
  }
}

TEST(ScheduleCommWait, a_second_time_changes_nothing) {
  const auto once = schedule_comm_wait(fused_ddp());
  ASSERT_TRUE(once && once->graph);
  const auto twice = schedule_comm_wait(*once->graph);
  ASSERT_TRUE(twice);
  EXPECT_FALSE(twice->graph);
}

}  // namespace
}  // namespace hocket
