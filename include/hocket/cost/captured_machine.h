// A machine as a capture knows it. A capture may say what each of its collectives takes; what passes make of them, buckets of
// several, then has to be judged by the same measure, and not by the machine's.
//
//   options.cost.machine = as_captured(*find_machine("h100x8"), graph);      // compile() does
#pragma once

#include "hocket/cost/machine.h"
#include "hocket/ir/graph.h"

namespace hocket {

// For each kind and group size whose captured times are not the machine's (by more than 2 %), a row in its table of collectives:
// the latency and the bandwidth that fit those times best, or where none fit (all have one size) the machine's times, scaled. A
// machine that the capture agrees with, or says nothing of, stays as it is.
Machine as_captured(Machine machine, const Graph& graph);

}  // namespace hocket
