// Small moves of single units in an order that is good already: for programs so small that every place counts.
#pragma once

#include "schedule/order_maker.h"
#include "schedule/setting.h"

namespace hocket::overlap {

// Moves random units within what their dependencies allow. At first it also takes moves that lose a little, less and less towards the
// end; the best order on the way is the answer. `time_of` judges an order.
MadeOrder polished(const UnitGraph& units, std::vector<UnitIndex> order, Size limit, std::size_t tries,
                   const std::function<Time(const MadeOrder&)>& time_of, Dice& dice);

// By the two-lane model; fills in when the compute lane reaches each unit.
Time two_lane_time(const UnitGraph& units, MadeOrder& made);

}  // namespace hocket::overlap
