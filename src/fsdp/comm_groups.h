// The groups of nodes that FSDP's communication consists of.
#pragma once

#include <string>
#include <vector>

#include "hocket/ir/order_constraints.h"

namespace hocket::fsdp {

struct CommGroups {
  NodeId collective;
  std::vector<NodeId> start;   // what leads to the collective, and it; in program order
  std::vector<NodeId> finish;  // its wait and what follows from that; in program order
};

// Of an all_gather or reduce_scatter that is fed by a copy-in; the reason as an error where it is none.
Result<CommGroups> comm_groups(const Graph& graph, const OrderConstraints& constraints, NodeId collective);

}  // namespace hocket::fsdp
