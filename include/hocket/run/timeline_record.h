// When what really happened in one run of a program.
#pragma once

#include <vector>

#include "hocket/base/units.h"

namespace hocket {

// From the begin of the run. A collective goes on beside the steps from its start until it is complete; a step that starts one
// ends as soon as it is under way.
struct StepRecord {
  Nanoseconds start;
  Nanoseconds end;
  Nanoseconds complete;  // of a collective; else as `end`
};

struct RunRecord {
  std::vector<StepRecord> steps;  // by step
  Nanoseconds total;
};

}  // namespace hocket
