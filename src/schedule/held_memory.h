// The one rule of how steps hold memory: a buffer is there from the first step that touches it to the last.
#pragma once

#include "hocket/schedule/step_graph.h"

namespace hocket {

// Runs a step on what is held before it; answers what is live while it runs. `left(buffer)` is a reference to how many of the
// buffer's touches are still to come, this step's included; they are counted down.
template <class Left>
Bytes run_step(const StepGraph& steps, StepIndex step, Bytes& held, Left&& left) {
  const auto touches = steps.touches(step);
  for (const std::uint32_t buffer : touches) {
    if (left(buffer) == steps.touched_by(buffer).size()) held += steps.buffers()[buffer].bytes;
  }
  const Bytes live = held;
  for (const std::uint32_t buffer : touches) {
    if (--left(buffer) == 0 && !steps.buffers()[buffer].kept) held -= steps.buffers()[buffer].bytes;
  }
  return live;
}

}  // namespace hocket
