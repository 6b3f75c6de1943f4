// What no result of the pass overlap can beat, in whatever memory: its collectives merged as it pleases, its steps in any order.
#pragma once

#include "hocket/cost/cost_model.h"
#include "hocket/ir/graph.h"
#include "hocket/schedule/bounds.h"

namespace hocket {

Result<StepBound> overlap_bound(const Graph& graph, const CostModel& cost);

}  // namespace hocket
