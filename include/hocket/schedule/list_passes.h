// Passes that build an order from the front, always taking the most urgent of the steps that are ready.
// They look at dependencies and times only; memory is not limited.
#pragma once

#include <span>
#include <vector>

#include "hocket/schedule/step_graph.h"

namespace hocket {

// Waits as late as possible: a wait runs when nothing else can.
std::vector<StepIndex> sink_waits(const StepGraph& steps, std::span<const StepIndex> order);

// Collectives as early as possible: first the steps that lead to the first collective, then those that lead to the second …
// Among steps that lead to the same one, in the given order.
std::vector<StepIndex> raise_comms(const StepGraph& steps, std::span<const StepIndex> order);

// Both; and behind each collective first what the next collective needs and does not depend on it, then other compute that is
// ready, until the collective's time is covered.
std::vector<StepIndex> reorder_compute_for_overlap(const StepGraph& steps, std::span<const StepIndex> order);

}  // namespace hocket
