#include "hocket/ir/tail.h"

#include <algorithm>

namespace hocket {

namespace {

// Buffers that must be as they are, or hold what they hold, when a run returns: results, and inputs of this run alone.
std::vector<bool> buffers_of_the_run(const Program& program) {
  std::vector<bool> fixed(program.buffers().size());
  for (std::size_t i = 0; i < fixed.size(); ++i) fixed[i] = program.buffer(BufferId(i)).home == Home::input;
  for (std::size_t i = 0; i < program.size(); ++i) {
    for (const OperandId operand : program.writes(StepId(i))) fixed[program.operand(operand).buffer.index()] = false;
  }
  for (const OperandId operand : program.results()) fixed[program.operand(operand).buffer.index()] = true;
  return fixed;
}

bool touches(const Program& program, StepId step, const std::vector<bool>& buffers) {
  bool any = false;
  visit_accesses(program, step, [&](BufferId buffer, bool) { any = any || buffers[buffer.index()]; });
  return any;
}

bool only_computes_or_waits(const Program& program, StepId step) {
  const OpSpec* const spec = program.op_spec(step);
  if (spec == nullptr || spec->effects.opaque || spec->effects.side_effect || spec->effects.comm) return false;
  return !spec->effects.waits || program.step(step).waits_for.valid();
}

std::size_t begin_of_tail(const Program& program) {
  const std::vector<bool> carriable = may_be_carried(program);
  std::size_t begin = program.size();
  while (begin > 0 && carriable[begin - 1]) --begin;
  while (begin < program.size() && !program.step(StepId(begin)).waits_for.valid()) ++begin;
  return begin;
}

// Of each buffer, how many steps of the tail must be done before it may be read or written again.
struct LastUses {
  std::vector<std::size_t> before_reading, before_writing;
};

LastUses last_uses(const Program& program, std::size_t begin) {
  const std::size_t buffers = program.buffers().size();
  LastUses uses{std::vector<std::size_t>(buffers, 0), std::vector<std::size_t>(buffers, 0)};
  for (std::size_t i = begin; i < program.size(); ++i) {
    visit_accesses(program, StepId(i), [&](BufferId buffer, bool written) {
      uses.before_writing[buffer.index()] = i + 1 - begin;
      if (written) uses.before_reading[buffer.index()] = i + 1 - begin;
    });
  }
  return uses;
}

}  // namespace

std::vector<bool> may_be_carried(const Program& program) {
  const std::vector<bool> fixed = buffers_of_the_run(program);
  std::vector<bool> may(program.size());
  for (std::size_t i = 0; i < may.size(); ++i)
    may[i] = only_computes_or_waits(program, StepId(i)) && !touches(program, StepId(i), fixed);
  return may;
}

Tail tail_of(const Program& program) {
  Tail tail;
  tail.begin = begin_of_tail(program);
  if (tail.begin == program.size()) return tail;
  const LastUses uses = last_uses(program, tail.begin);
  tail.due.resize(tail.begin, 0);
  std::size_t due = 0;
  for (std::size_t i = 0; i < tail.begin; ++i) {
    visit_accesses(program, StepId(i), [&](BufferId buffer, bool written) {
      due = std::max(due, written ? uses.before_writing[buffer.index()] : uses.before_reading[buffer.index()]);
    });
    tail.due[i] = due;
  }
  return tail;
}

std::vector<StepId> carried_order(const Program& program, const Tail& tail) {
  std::vector<StepId> order;
  std::size_t next = tail.begin;
  const auto run_tail_to = [&](std::size_t end) {
    for (; next < end; ++next) order.emplace_back(next);
  };
  for (std::size_t i = 0; i < tail.begin; ++i) {
    if (!tail.empty()) run_tail_to(tail.begin + tail.due[i]);
    order.emplace_back(i);
  }
  run_tail_to(program.size());
  return order;
}

}  // namespace hocket
