// How far a collective could move while everything of weight stays where it is. Casts, copies and views next to communication are
// light: they move along with it.
#pragma once

#include <vector>

#include "hocket/fuse/comm_block.h"
#include "hocket/ir/order_constraints.h"

namespace hocket::fuse {

class Windows {
 public:
  // `waits` are those that may come later than they are: what depends on one of them keeps its collective from moving earlier.
  Windows(const Graph& graph, const OrderConstraints& constraints, const std::vector<NodeId>& waits);

  bool light(NodeId id) const { return light_[id.index()]; }
  bool is_view(NodeId id) const { return graph_.node(id).view_of.valid(); }
  // Behind this position all that the collective needs can be there. Its own where it cannot move earlier.
  std::uint32_t ready(NodeId collective) const;
  // Before this position its waits have to be done, at least the first of them.
  std::uint32_t needed(const CommBlock& block) const;
  // The light nodes behind a position that lead to this one, in program order.
  std::vector<NodeId> light_before(NodeId id, std::uint32_t position) const;

 private:
  const Graph& graph_;
  const OrderConstraints& constraints_;
  std::vector<bool> light_;
  std::vector<std::uint32_t> ready_;
  std::vector<std::uint32_t> needed_;
  std::vector<bool> behind_wait_;  // a wait that may move leads here over light nodes
};

}  // namespace hocket::fuse
