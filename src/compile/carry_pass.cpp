#include "compile/carry_pass.h"

#include <fmt/format.h>

#include <optional>

#include "compile/forms.h"
#include "hocket/ir/rewrite.h"
#include "hocket/ir/tail.h"
#include "hocket/plan/lifetimes.h"
#include "hocket/schedule/carry_over.h"

namespace hocket {

namespace {

Bytes size_of_buffer(const Buffer& buffer) { return Bytes(buffer.bytes.is_static() ? buffer.bytes.value() : 0); }

// The most that is in use at the same time, with what the caller brings.
Bytes peak_of(const Program& program, const std::vector<Lifetime>& lifetimes) {
  std::vector<Bytes> change(program.size() + 2);
  for (std::size_t i = 0; i < lifetimes.size(); ++i) {
    const Buffer& buffer = program.buffer(BufferId(i));
    const bool brought = buffer.home == Home::input || buffer.home == Home::constant;
    if (!brought && !lifetimes[i].is_used()) continue;
    change[brought ? 0 : lifetimes[i].first] += size_of_buffer(buffer);
    change[brought ? program.size() + 1 : lifetimes[i].last + 1] -= size_of_buffer(buffer);
  }
  Bytes now, peak;
  for (const Bytes each : change) peak = std::max(peak, now += each);
  return peak;
}

// What the tail takes over from the steps before it: kept throughout, as an eager program keeps gradients from step to step.
Bytes bytes_carried(const Program& program, const std::vector<Lifetime>& lifetimes) {
  Bytes sum;
  for (std::size_t i = 0; i < lifetimes.size(); ++i) {
    const Buffer& buffer = program.buffer(BufferId(i));
    const bool planned = buffer.home == Home::arena || buffer.home == Home::symmetric;
    if (planned && lifetimes[i] == Lifetime{0, program.size()}) sum += size_of_buffer(buffer);
  }
  return sum;
}

struct Needs {
  Bytes peak, limit;
};

// What a program with a tail takes, and what it may take.
Needs needs_of(const Program& program, const PassContext& context) {
  const std::vector<Lifetime> lifetimes = lifetimes_of(program, tail_of(program));
  const MemoryLimit& limit = context.memory_limit;
  return {peak_of(program, lifetimes),
          limit.absolute ? *limit.absolute : limit.of(context.original_peak + bytes_carried(program, lifetimes))};
}

Result<PassResult> run_carry(const Subject& subject, const PassContext& context, PassArguments& arguments) {
  HOCKET_CHECK(arguments.finish());
  const Program& program = std::get<Program>(subject);
  std::optional<Needs> refused;  // the least of those that would take too much
  const auto fits = [&](const Program& changed) {
    const Needs needs = needs_of(changed, context);
    if (needs.peak > needs.limit && (!refused || needs.peak < refused->peak)) refused = needs;
    return needs.peak <= needs.limit;
  };
  HOCKET_TRY(CarryOver carried, carry_over(program, context.cost->times(program), fits));
  PassResult result;
  if (carried.carried == 0) {
    result.report = refused ? fmt::format("carrying communication into the next run would take {}, the limit is {}",
                                          to_string(refused->peak), to_string(refused->limit))
                            : "nothing would be gained by carrying communication into the next run";
    return result;
  }
  HOCKET_TRY(Program changed, with_order(program, ids_of<Program>(carried.order)));
  result.report =
      fmt::format("a run of many {} -> {}: {} collectives end in the next run, {} start last",
                  to_string(carried.period_before), to_string(carried.period), carried.carried, carried.postponed);
  if (carried.deferred > 0) result.report += fmt::format(" and {} steps compute for them then", carried.deferred);
  result.report += fmt::format("; {} in all", to_string(needs_of(changed, context).peak));
  result.subject = std::move(changed);
  result.order = std::move(carried.order);
  result.keeps_collective_order = false;
  return result;
}

}  // namespace

Pass carry_pass() {
  return {"carry_over", "move waits and updates to the end, to run beside the beginning of the next run", Form::program,
          "", run_carry};
}

}  // namespace hocket
