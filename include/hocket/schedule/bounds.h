// What no order of the same steps can beat, and why: the bound that binds.
//
//   const StepBound bound = step_bound(steps);       // bound.time, to_string(bound): "critical path"
//
// Besides the busy time of each lane and the longest path: a lane on which every step has a time before which it cannot begin (the
// longest path to it) and a time that is needed after it (the longest path from it). The best schedule of such a lane that may
// interrupt its steps takes no longer than any that may not, and is found by always running the step with the most behind it.
// And the collectives of the longest path against compute that is unrelated to them: serial_bound.h; and what is communicated last
// against what could be computed beside it: last_bound.h.
#pragma once

#include <string>

#include "hocket/schedule/overlap.h"
#include "hocket/schedule/step_graph.h"

namespace hocket {

enum class BoundKind : std::uint8_t { compute, lane, critical_path, serial, compute_with_ends, lane_with_ends, last };

struct StepBound {
  Nanoseconds time;
  BoundKind kind = BoundKind::compute;
  std::string lane;  // of the kinds that name one
};
std::string to_string(const StepBound& bound);

// The largest of all bounds. For orders of these very steps: merging collectives can go below a lane's.
StepBound step_bound(const StepGraph& steps);

// The same where collectives may be merged as the options say, in whatever memory: a lane takes what one collective for each class takes. A
// collective takes no less together with others than its class says of its bytes alone, and those that follow from each other stay apart, so
// that the other bounds hold. For classes whose time grows with the bytes, but no faster than they do.
StepBound merged_bound(const StepGraph& steps, const OverlapOptions& options);

}  // namespace hocket
