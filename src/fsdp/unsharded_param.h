// One unsharded parameter of an FSDP graph and the rounds in which it is filled, used and emptied.
#pragma once

#include <vector>

#include "hocket/ir/graph.h"

namespace hocket::fsdp {

struct Round {
  NodeId resize_to_full;
  NodeId copy;
  NodeId gathered;  // what is copied in
  NodeId resize_to_zero;
};

struct UnshardedParam {
  NodeId input;
  std::vector<Round> rounds;  // in program order
};

// What touches each storage, in program order: found once for all parameters.
struct Accesses {
  explicit Accesses(const Graph& graph);

  std::vector<std::vector<NodeId>> touching;  // by storage: nodes that take a tensor in it
  std::vector<std::vector<NodeId>> writing;   // by storage: nodes that write it
  std::vector<std::vector<NodeId>> inputs;    // by storage: inputs of the graph that lie in it
  std::vector<NodeId> opaque;                 // operators that may write anything
};

bool is_resize(const Graph& graph, NodeId id);
bool is_fsdp_copy(const Graph& graph, NodeId id);

// The rounds of an input, or the reason why the pattern does not hold exactly.
Result<UnshardedParam> unsharded_param(const Graph& graph, const Accesses& accesses, NodeId input);

}  // namespace hocket::fsdp
