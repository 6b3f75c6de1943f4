// Where old nodes and the new parts of fused collectives stand in the new graph.
//
// A Place is relative to a position of the old graph, so that nothing has to be renumbered: old nodes keep their places, a fused
// collective stands behind the last of its inputs, and what depends on something that moved behind it follows it.
#pragma once

#include <compare>
#include <vector>

#include "hocket/ir/order_constraints.h"

namespace hocket::fuse {

struct Place {
  enum Phase : std::uint8_t {
    ahead,   // right before the old node of this position: waits and their tails
    at,      // the old node itself
    raised,  // right behind it: what a fused collective needs
    fused,   // then fused collectives
    behind,  // then what was late for them
  };
  std::uint32_t position = 0;
  Phase phase = at;
  std::uint32_t order = 0;  // among those of the same phase

  friend constexpr auto operator<=>(const Place&, const Place&) = default;
};

inline Place place_of(NodeId id) { return {id.value, Place::at, 0}; }

// Gives every node that depends on something which moved behind it a place right behind that, in the old order. `places` holds the
// places of the nodes that move or go (as fixed[id] says); the others are filled in. The last node, the output, stays.
void follow(const OrderConstraints& constraints, const std::vector<bool>& fixed, std::vector<Place>& places);

// The old nodes in the order of their places.
std::vector<NodeId> order_by(const std::vector<Place>& places);

}  // namespace hocket::fuse
