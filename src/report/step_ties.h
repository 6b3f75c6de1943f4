// What ties the steps that are shown to each other, through those that are not (views, inputs): a step that takes no time is no
// reason for anything, but what stands behind it is.
#pragma once

#include <span>
#include <vector>

#include "hocket/schedule/step_graph.h"

namespace hocket {

struct StepTies {
  std::vector<StepIndex>
      needs;  // by step: the last shown step before it, in this order, that it depends on; or no_step
  std::vector<StepIndex> needed_by;  // by step: the first shown step behind it that depends on it; or no_step
};

StepTies step_ties(const StepGraph& steps, std::span<const StepIndex> order, const std::vector<bool>& shown);

// The shown steps that use a result of `step`, first ones first, at most so many.
std::vector<StepIndex> shown_users(const StepGraph& steps, StepIndex step, const std::vector<bool>& shown,
                                   std::span<const std::uint32_t> place, std::size_t most);

}  // namespace hocket
