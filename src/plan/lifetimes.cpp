#include "hocket/plan/lifetimes.h"

#include <algorithm>
#include <span>

namespace hocket {

namespace {

class LifetimeReader {
 public:
  explicit LifetimeReader(const Program& program)
      : program_(program), lifetimes_(program.buffers().size()), waited_(program.size(), false) {}

  std::vector<Lifetime> read() {
    for (std::size_t i = 0; i < program_.size(); ++i) {
      touch_all(StepId(i), i);
      const StepId awaited = program_.step(StepId(i)).waits_for;
      if (!awaited.valid()) continue;
      touch_all(awaited, i);
      waited_[awaited.index()] = true;
    }
    for (std::size_t i = 0; i < program_.size(); ++i) {
      if (flies(StepId(i)) && !waited_[i]) touch_all(StepId(i), program_.size());
    }
    touch(program_.results(), program_.size());
    return std::move(lifetimes_);
  }

 private:
  bool flies(StepId id) const { return program_.collective(id) != nullptr && !is_blocking(program_.op_spec(id)); }
  void touch_all(StepId id, std::size_t when) {
    touch(program_.reads(id), when);
    touch(program_.writes(id), when);
  }
  void touch(std::span<const OperandId> operands, std::size_t when) {
    for (const OperandId operand : operands) {
      Lifetime& lifetime = lifetimes_[program_.operand(operand).buffer.index()];
      lifetime.first = std::min(lifetime.first, when);
      lifetime.last = std::max(lifetime.last, when);
    }
  }

  const Program& program_;
  std::vector<Lifetime> lifetimes_;
  std::vector<bool> waited_;  // by step
};

}  // namespace

std::vector<Lifetime> lifetimes_of(const Program& program) { return LifetimeReader(program).read(); }

std::vector<Lifetime> lifetimes_of(const Program& program, const Tail& tail) {
  std::vector<Lifetime> lifetimes(program.buffers().size());
  std::vector<bool> in_head(lifetimes.size()), in_tail(lifetimes.size());
  const std::vector<StepId> order = carried_order(program, tail);
  for (std::size_t when = 0; when < order.size(); ++when) {
    visit_accesses(program, order[when], [&](BufferId buffer, bool) {
      Lifetime& lifetime = lifetimes[buffer.index()];
      lifetime.first = std::min(lifetime.first, when);
      lifetime.last = when;
      (order[when].index() < tail.begin ? in_head : in_tail)[buffer.index()] = true;
    });
  }
  const std::vector<Lifetime> alone = lifetimes_of(program);
  for (std::size_t i = 0; i < lifetimes.size(); ++i) {
    const bool to_the_end = alone[i].is_used() && alone[i].last == program.size();  // a result, or never waited for
    if (to_the_end || (in_head[i] && in_tail[i])) lifetimes[i] = {0, program.size()};
  }
  return lifetimes;
}

}  // namespace hocket
