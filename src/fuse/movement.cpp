#include "fuse/movement.h"

#include <algorithm>
#include <array>

namespace hocket::fuse {

namespace {

constexpr std::array<std::string_view, 4> movers = {"prims.convert_element_type.default", "aten._to_copy.default",
                                                    "aten.clone.default", "aten.cat.default"};

bool only_moves(const Graph& graph, NodeId id) {
  const Node& node = graph.node(id);
  if (node.kind != NodeKind::op || graph.collective(id) != nullptr || node.wait_of.valid()) return false;
  if (!graph.mutates(id).empty()) return false;
  const std::string_view op = graph.op_name(id);
  return node.view_of.valid() || op == "getitem" || std::find(movers.begin(), movers.end(), op) != movers.end();
}

bool communicates(const Graph& graph, NodeId id) {
  return graph.collective(id) != nullptr || graph.node(id).wait_of.valid();
}

}  // namespace

Movement::Movement(const Graph& graph, const Users& users) : beside_(graph.size(), false) {
  std::vector<bool> moves(graph.size());
  for (std::size_t i = 0; i < graph.size(); ++i) moves[i] = only_moves(graph, NodeId(i));
  const auto joins = [&](std::span<const NodeId> others) {
    return std::any_of(others.begin(), others.end(),
                       [&](NodeId other) { return communicates(graph, other) || beside_[other.index()]; });
  };
  for (std::size_t i = 0; i < graph.size(); ++i) {
    if (moves[i] && joins(graph.inputs(NodeId(i)))) beside_[i] = true;
  }
  for (std::size_t i = graph.size(); i-- > 0;) {
    if (moves[i] && joins(users.of(NodeId(i)))) beside_[i] = true;
  }
}

}  // namespace hocket::fuse
