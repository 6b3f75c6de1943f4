// What an operator's row says about one call: the effects that a capture need not spell out.
// The builder fills in what was left open with it, the printer leaves out what it gives.
#pragma once

#include <optional>
#include <vector>

#include "hocket/ir/graph.h"

namespace hocket {

struct CallEffects {
  NodeId view_of;
  std::vector<NodeId> mutates;
  std::optional<Collective> collective;
};

// For a node of kind op. Input types must be known; storages need not.
CallEffects effects_by_row(const Graph& graph, NodeId id);

// The collective that a wait on this node's first argument completes, found along views; none for an input in flight.
NodeId awaited_by(const Graph& graph, NodeId id);

// Whose output, and which, shares storage with output `index` of a node that is a view of `view_of`.
struct OutputRef {
  NodeId node;
  std::size_t index = 0;
};
OutputRef shared_output(const Graph& graph, NodeId id, std::size_t index);

// The bytes of a storage that tensors reach, once one more tensor is counted. A symbolic reach outweighs a static one.
Dim farther_reach(Dim so_far, const TypeView& type, SymbolTable& symbols);

// Does a dense row-major tensor have these strides? (Dimensions of size 1 may have any.)
bool is_contiguous(const TypeView& type, SymbolTable& symbols);

}  // namespace hocket
