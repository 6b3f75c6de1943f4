// Orders that hold less memory.
#pragma once

#include "schedule/unit_graph.h"

namespace hocket::overlap {

// Compute that creates more than it frees goes to right before its first user. While it runs there it holds both, so that a peak may
// grow: compare. Collectives and waits keep their places.
std::vector<UnitIndex> lean_order(const UnitGraph& units, const std::vector<UnitIndex>& order);

// Built from the front: of the first units that are ready, always the one after which the least is held. For limits that the
// original order does not keep.
std::vector<UnitIndex> frugal_order(const UnitGraph& units, const std::vector<UnitIndex>& order);

// Every collective with all that leads to it as early as it can be, and right behind it what leads to none. With several
// micro-batches this runs the backward pass of the first one before the forward pass of the second one.
std::vector<UnitIndex> raised_order(const UnitGraph& units, const std::vector<UnitIndex>& order);

// Nothing before somebody needs it: what a unit needs comes right before it, what a later one of those needs right before that one.
std::vector<UnitIndex> demanded_order(const UnitGraph& units, const std::vector<UnitIndex>& order);

}  // namespace hocket::overlap
