// The built-in lowerings of communication and waits.
#pragma once

#include "hocket/ir/graph.h"
#include "hocket/lower/registry.h"

namespace hocket {

// Is it an all-to-all with split sizes that need not be the same on all ranks?
bool sizes_may_differ(const Graph& graph, NodeId node);

void add_collective_lowerings(LoweringRegistry& registry);
void add_all_reduce_lowerings(LoweringRegistry& registry);

}  // namespace hocket
