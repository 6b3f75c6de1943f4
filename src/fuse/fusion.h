// Writes a graph in which buckets of collectives have become one each.
#pragma once

#include <string>
#include <vector>

#include "fuse/arrangement.h"
#include "fuse/forms.h"

namespace hocket::fuse {

// Blocks that become one collective.
struct Bucket {
  Members members;
  std::vector<NodeId> gone;    // old nodes that go besides the collectives and waits of the members
  Place start;                 // of the fused collective
  std::vector<Place> results;  // of the members' results, where their waits would stand now
};

using MakeForm = std::unique_ptr<CollectiveForm> (*)(FusedForm form, NodeWriter writer, Members members);

struct FusionOptions {
  FusedForm form = FusedForm::concat;
  MakeForm make = nullptr;
  std::string prefix;               // of the new nodes' names
  const CostModel* cost = nullptr;  // absent: no times
};

// `places` are those of all old nodes; those of nodes that go are not looked at. Values that the buckets take must stand before
// the buckets' starts, and what uses their results behind those: see follow().
Result<Graph> fuse_buckets(const Graph& graph, const std::vector<Bucket>& buckets, const std::vector<Place>& places,
                           const FusionOptions& options);

}  // namespace hocket::fuse
