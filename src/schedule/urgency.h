// When units ought to run: the priorities that orders are made by. Times of collectives are given by unit, as comm_times() has them.
#pragma once

#include <vector>

#include "schedule/order_maker.h"

namespace hocket::overlap {

// By class: the time of a bucket of this size; 0 where nothing is merged.
std::vector<Time> bucket_times(const UnitGraph& units, const std::vector<Size>& bucket);
// By unit: a collective that goes into a bucket takes its share of the bucket's time.
std::vector<Time> comm_times(const UnitGraph& units, const std::vector<Size>& bucket);

// The latest that each unit can start if all is to end at 0, with every lane taking its units in the given order.
std::vector<Time> latest_starts(const UnitGraph& units, const std::vector<UnitIndex>& order,
                                const std::vector<Time>& comm, bool with_lanes);

// The same from a list schedule that is made from the end: of what nothing more depends on, what began last goes first.
std::vector<Time> backward_starts(const UnitGraph& units, const std::vector<Time>& began,
                                  const std::vector<Time>& comm);

// When each unit of an order would have to start so that the compute lane stood still less by this share: what a wait stands still for
// is pulled forward, with all that leads to it, as far as its lane allows; the rest keeps its place.
std::vector<Time> pulled_starts(const UnitGraph& units, const MadeOrder& made, const std::vector<Time>& comm,
                                double share);

}  // namespace hocket::overlap
