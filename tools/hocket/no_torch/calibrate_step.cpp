#include "calibrate_step.h"

#include "no_torch/hand_over.h"

namespace hocket::tool {

int run_calibrate_step(const CalibrateStepOptions&) { return hand_over_to_torch("calibrate GRAPH"); }

}  // namespace hocket::tool
