// A capture of a step that does the same every time, which is what a compiled step does.
#pragma once

#include "hocket/torch/capture.h"

namespace hocket {

// Captures the step twice, and fails where the second time is different, with the first line of the graph that is: what the host
// counts from step to step, or an optimizer's state that is only made in the first one, would be frozen in a compiled step.
Result<Capture> capture_repeatable(const StepFunction& step, const std::vector<at::Tensor>& example_inputs,
                                   const CaptureOptions& options);

}  // namespace hocket
