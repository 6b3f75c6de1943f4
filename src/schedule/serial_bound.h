// A bound for programs whose collectives follow from each other: while one of them runs, only steps that neither lead to it nor follow
// from it can be computed. What these cannot cover, the compute lane stands still for.
#pragma once

#include <cstdint>
#include <vector>

#include "hocket/schedule/step_graph.h"

namespace hocket {

// In picoseconds. `path` is a chain of dependencies, from its first step to its last; the collectives on it whose end the next one needs
// are those that follow from each other. `times` are by step.
std::int64_t serial_bound(const StepGraph& steps, const std::vector<StepIndex>& path,
                          const std::vector<std::int64_t>& times);

}  // namespace hocket
