// A communication block: a collective, its wait or waits, the getitems between them, and the tail of nodes that only reshape
// the result (split, reshape, view, getitem, detach, alias). What the rest of the program uses are its outputs.
//
//   const Users users(graph);
//   const Result<CommBlock> block = find_block(graph, users, all_reduce);
//   if (!block) note(block.error().message);      // "its result is used by relu, which is no wait"
#pragma once

#include <vector>

#include "hocket/ir/graph.h"
#include "hocket/ir/users.h"

namespace hocket {

struct CommBlock {
  NodeId collective;
  std::vector<NodeId> inputs;    // what the collective takes
  std::vector<NodeId> getitems;  // between the collective and its waits; empty where it has one result
  std::vector<NodeId> waits;     // one, or one for each getitem, in the order of the getitems
  std::vector<NodeId> tail;      // behind the waits, in program order
  std::vector<NodeId> outputs;   // waits and nodes of the tail that others use, in program order

  NodeId input() const { return inputs.front(); }
  NodeId wait() const { return waits.front(); }
};

// The block of a collective; the reason why it has none as an error of kind input.
Result<CommBlock> find_block(const Graph& graph, const Users& users, NodeId collective);

}  // namespace hocket
