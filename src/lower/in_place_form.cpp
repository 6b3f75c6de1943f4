#include "lower/in_place_form.h"

#include <algorithm>

namespace hocket {

namespace {

// May the result take over the value's buffer? Nobody else may see what the collective writes there, and views of the result
// must find the layout that they expect.
bool takes_over(CollectiveCall& call, OperandId value, std::size_t result, const std::vector<OperandId>& all) {
  Emitter& emit = call.emitter();
  const BufferId buffer = emit.program().operand(value).buffer;
  const auto shared = std::count_if(all.begin(), all.end(),
                                    [&](OperandId other) { return emit.program().operand(other).buffer == buffer; });
  return shared == 1 && emit.dies_at(value, call.node()) && emit.is_contiguous(value) &&
         emit.same_layout(value, emit.graph().outputs(call.node())[result]) &&
         emit.can_realize(value, call.group()) != OrdinaryReason::other_group && emit.place(call.node(), result, value);
}

}  // namespace

std::vector<OperandId> bring_to_results(CollectiveCall& call) {
  Emitter& emit = call.emitter();
  const std::vector<OperandId> values = call.tensors(0);
  std::vector<OperandId> places;
  bool copied = false;
  for (std::size_t k = 0; k < values.size(); ++k) {
    const bool taken = takes_over(call, values[k], k, values);
    places.push_back(call.writable(emit.operand(call.node(), k), false));
    if (!taken) emit.copy(call.node(), values[k], places.back(), CopyReason::in_place_form);
    copied = copied || !taken;
  }
  if (!copied) emit.report().taken_over.push_back(call.node());
  return places;
}

Arg like_first_argument(CollectiveCall& call, const std::vector<OperandId>& operands) {
  std::vector<Arg> args;
  for (const OperandId operand : operands) args.push_back(Arg::value(operand));
  const bool is_list = call.emitter().graph().args(call.node())[0].is(ArgKind::list);
  return is_list || args.size() != 1 ? call.emitter().list(args) : args[0];
}

}  // namespace hocket
