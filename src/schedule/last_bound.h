// A bound by what is communicated last: the gradient of the first layer, which all of the backward pass leads to.
//
// Take one collective. All compute runs before it is issued, but for some that it does not need. What runs behind it is followed on the
// collective's lane by what that compute leads to, which cannot be one with it. So the step takes at least
//
//   all compute + the collective − the most, over all that could run behind it, of (its compute − the communication it leads to)
//
// Each step is counted for one collective of the lane that it leads to. Those of a class take no less than one of all their bytes: of so
// many bytes the best are those with the most compute for each, and between two of them it is never better to take a part of the next.
#pragma once

#include "hocket/schedule/overlap.h"
#include "schedule/paths.h"

namespace hocket {

// `paths` are by the least that each step takes. In picoseconds; without classes for orders of the same steps.
std::int64_t last_bound(const StepGraph& steps, const OverlapOptions& options, const Paths& paths);

}  // namespace hocket
