// Which nodes only move memory on the way to a collective, or on the way from its wait: views, casts, copies. Those belong to the
// communication and may be replaced by others that lead to the same values.
#pragma once

#include <vector>

#include "hocket/ir/graph.h"
#include "hocket/ir/users.h"

namespace hocket::fuse {

class Movement {
 public:
  Movement(const Graph& graph, const Users& users);
  bool beside_communication(NodeId id) const { return beside_[id.index()]; }

 private:
  std::vector<bool> beside_;  // by node
};

}  // namespace hocket::fuse
