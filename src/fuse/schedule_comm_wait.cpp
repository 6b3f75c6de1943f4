#include "hocket/fuse/schedule_comm_wait.h"

#include <algorithm>

#include "fuse/arrangement.h"
#include "hocket/fuse/comm_block.h"

namespace hocket {

namespace {

using fuse::Place;

// A wait and the nodes of the tail that come from it, in program order.
std::vector<NodeId> with_tail(const Graph& graph, const CommBlock& block, NodeId wait) {
  std::vector<NodeId> nodes = {wait};
  for (const NodeId id : block.tail) {
    if (std::binary_search(nodes.begin(), nodes.end(), graph.args(id)[0].as_node())) nodes.push_back(id);
  }
  return nodes;
}

// The first node that has to come after one of these and is none of them. Another wait for the same collective does not count: any
// of them may be the one that blocks.
std::optional<NodeId> first_follower(const Graph& graph, const OrderConstraints& constraints,
                                     const std::vector<NodeId>& nodes) {
  std::optional<NodeId> first;
  const NodeId collective = graph.node(nodes.front()).wait_of;
  for (const NodeId id : nodes) {
    for (const NodeId later : constraints.after(id)) {
      if (std::binary_search(nodes.begin(), nodes.end(), later) || graph.node(later).wait_of == collective) continue;
      if (!first || later < *first) first = later;
    }
  }
  return first;
}

}  // namespace

Result<RewriteResult> schedule_comm_wait(const Graph& graph, const ScheduleCommWaitOptions&) {
  const Users users(graph);
  const OrderConstraints constraints(graph);
  RewriteResult result;
  std::vector<Place> places;
  for (std::size_t i = 0; i < graph.size(); ++i) places.push_back(fuse::place_of(NodeId(i)));
  std::size_t waits = 0;
  std::size_t moved = 0;
  for (std::size_t i = 0; i < graph.size(); ++i) {
    const NodeId id(i);
    if (graph.collective(id) == nullptr) continue;
    const Result<CommBlock> block = find_block(graph, users, id);
    if (!block) {
      result.notes.push_back(fmt::format("{}: {}", graph.name(id), block.error().message));
      continue;
    }
    for (const NodeId wait : block->waits) {
      const std::vector<NodeId> nodes = with_tail(graph, *block, wait);
      const std::optional<NodeId> user = first_follower(graph, constraints, nodes);
      if (!user) continue;
      ++waits;
      const auto ahead = std::lower_bound(nodes.begin(), nodes.end(), *user) - nodes.begin();
      if (user->value - wait.value != static_cast<std::uint32_t>(ahead)) ++moved;
      for (const NodeId node : nodes) {
        if (node < *user) places[node.index()] = {user->value, Place::ahead, node.value};
      }
    }
  }
  const std::vector<NodeId> order = fuse::order_by(places);
  if (!std::is_sorted(order.begin(), order.end())) {
    HOCKET_TRY(result.graph, with_order(graph, order));
  }
  result.report =
      fmt::format("{} waits stand right before their first user, {} of them moved", waits, result.graph ? moved : 0);
  return result;
}

}  // namespace hocket
