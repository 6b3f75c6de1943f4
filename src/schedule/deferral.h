// Compute that can wait, put beside what the compute lane stands still for.
#pragma once

#include <vector>

#include "schedule/order_maker.h"

namespace hocket::overlap {

// When each unit of an order would run if what has time ran behind the collectives that the compute lane stands still for, beside
// them: compute that they do not need, as much as this share of the time that it stands still, where that takes longer than what then
// has to be communicated later.
std::vector<Time> deferred_starts(const UnitGraph& units, const MadeOrder& made, const std::vector<Time>& comm,
                                  double share);

}  // namespace hocket::overlap
