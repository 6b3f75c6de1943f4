#include <vector>

#include "hocket/ir/program.h"

namespace hocket {

Result<Program> with_order(const Program& program, std::span<const StepId> order) {
  if (order.size() != program.size())
    return fail(ErrorKind::internal, "an order of {} steps for a program of {}", order.size(), program.size());
  std::vector<StepId> place(program.size());
  for (std::size_t p = 0; p < order.size(); ++p) {
    if (order[p].index() >= program.size() || place[order[p].index()].valid())
      return fail(ErrorKind::internal, "an order that does not name every step once");
    place[order[p].index()] = StepId(p);
  }
  Program result = program;
  for (std::size_t p = 0; p < order.size(); ++p) {
    Step& step = result.steps_[p];
    step = program.step(order[p]);
    if (step.waits_for.valid()) step.waits_for = place[step.waits_for.index()];
  }
  // Which buffers may share bytes depends on the order: a plan does not outlive it.
  for (Buffer& buffer : result.buffers_) {
    if (buffer.home == Home::arena || buffer.home == Home::symmetric) buffer.placed_at = -1;
  }
  return result;
}

}  // namespace hocket
