// The end of a program that may run beside the beginning of the next run of the same program.
//
//   const Tail tail = tail_of(program);
//   tail.begin, tail.due[step]
//
// The last thing that a step of training does is to wait for gradients and to change parameters by them. The next step needs the
// first parameters at once and the last ones late: what these wait for may be under way meanwhile.
#pragma once

#include <cstddef>
#include <vector>

#include "hocket/ir/program.h"

namespace hocket {

struct Tail {
  // The steps from here on, of which the first is a wait. They start no communication, have no effects but on memory, and touch
  // neither results nor inputs that the program only reads. As many as the program has steps: there is none.
  std::size_t begin = 0;
  // By step before the tail, in the next run: so many steps of the tail must have run before it. Ascending.
  std::vector<std::size_t> due;

  bool empty() const { return due.empty(); }
};

Tail tail_of(const Program& program);

// By step: whether it may be part of a tail, by what it does itself.
std::vector<bool> may_be_carried(const Program& program);

// The steps in the order in which they run where every run carries its tail into the next one, which begins with the tail of the
// run before.
std::vector<StepId> carried_order(const Program& program, const Tail& tail);

// What a step reads and writes; of a wait, what its collective reads and writes. `visit(buffer, written)`.
template <typename Visit>
void visit_accesses(const Program& program, StepId step, const Visit& visit) {
  for (const StepId id : {step, program.step(step).waits_for}) {
    if (!id.valid()) continue;
    for (const OperandId operand : program.reads(id)) visit(program.operand(operand).buffer, false);
    for (const OperandId operand : program.writes(id)) visit(program.operand(operand).buffer, true);
  }
}

}  // namespace hocket
