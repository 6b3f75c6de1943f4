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
  bool flies(StepId id) const {
    const OpSpec* spec = program_.op_spec(id);
    const bool blocking = spec != nullptr && spec->effects.comm && spec->effects.comm->blocking;
    return program_.collective(id) != nullptr && !blocking;
  }
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

}  // namespace hocket
