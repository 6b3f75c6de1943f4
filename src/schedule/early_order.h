// An order that uses the memory which is left at the peak for the compute that is worth it.
//
// Steps that compute activations again could do so long before: beside the forward pass's collectives, with nothing else to compute
// there. What they give is then held at the peak, so that only some of it can run there. Here the most compute for the memory is chosen.
#pragma once

#include "schedule/unit_graph.h"

namespace hocket::overlap {

// Which of several that give equally much for their memory goes in front of the peak.
enum class Prefer : std::uint8_t {
  soon_needed,  // what is needed first behind the peak: it is held for the shortest time
  soon_ready,   // what can run first
};

struct EarlyOrder {
  std::vector<UnitIndex> order;
  std::vector<UnitIndex> moved;  // what went in front of the peak, in this order
  std::vector<UnitIndex> peak;   // what runs at the peak

  // By unit, the smaller, the earlier: what was moved runs when nothing that leads to the peak can, but before what comes behind the peak.
  // Otherwise it would be as urgent as it was behind the peak, and so would the gathers that it needs.
  void make_urgent(std::vector<Time>& priority) const;
};

// `guide` with units from behind its peak in front of it, such that no more than `limit` is held; the guide as it is if nothing can go
// there. `share` of the memory that is left at the peak may be taken.
EarlyOrder early_order(const UnitGraph& units, const std::vector<UnitIndex>& guide, Size limit, double share,
                       Prefer prefer);

}  // namespace hocket::overlap
