// The steps of a graph that says what each takes, with its collectives free to change places.
#pragma once

#include "hocket/cost/cost_model.h"
#include "hocket/schedule/step_graph.h"

namespace hocket {

inline StepGraph estimated_steps(const Graph& graph) {
  return StepGraph::of(graph, CostModel(CostOptions()).times(graph), {.keep_collective_order = false}).value();
}

}  // namespace hocket
