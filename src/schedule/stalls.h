// Where the compute lane of an order stands still, and what makes it.
#pragma once

#include <vector>

#include "schedule/order_maker.h"

namespace hocket::overlap {

// A collective that makes the compute lane stand still, and for how long.
struct Stall {
  StepIndex collective;
  Time time;
};

// Each collective that a wait stands still for. Where it had to queue on its lane, also all that kept the lane busy since that was last
// idle: whichever of them took less time, the wait would be shorter by as much. They share the time that it stands still.
std::vector<Stall> stalls_of(const StepGraph& steps, const UnitGraph& units, const MadeOrder& made);

}  // namespace hocket::overlap
