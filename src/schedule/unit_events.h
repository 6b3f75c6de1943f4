// An order of units as the compute lane sees it, for models of machines.
#pragma once

#include "hocket/schedule/lane_model.h"
#include "schedule/order_maker.h"

namespace hocket::overlap {

// Every step that takes time costs a launch; a bucket costs one.
std::vector<LaneEvent> events_of(const StepGraph& steps, const UnitGraph& units, const MadeOrder& made,
                                 Nanoseconds launch);

}  // namespace hocket::overlap
