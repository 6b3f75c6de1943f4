// All-reduces of one tensor: by their size the one-shot kernel, the two-shot kernel, or the transport.
#include "lower/algorithm.h"
#include "lower/collectives.h"
#include "lower/in_place_form.h"

namespace hocket {

namespace {

Result<AlgorithmChoice> choice_for(CollectiveCall& call, OperandId value) {
  const Graph& graph = call.emitter().graph();
  const auto args = graph.args(call.node());
  if (args.size() < 2 || !args[1].is(ArgKind::string))
    return fail(ErrorKind::input, "argument 1 (reduce_op) is missing or no string, expected one such as \"sum\"");
  return choose_algorithm(call.emitter().type(value), graph.pool().text(args[1]),
                          call.emitter().program().group(call.group()), call.emitter().options());
}

Result<OperandId> only_tensor(CollectiveCall& call) {
  const auto values = call.tensors(0);
  if (values.size() == 1) return values[0];
  return fail(ErrorKind::input, "argument 0 has {} tensors, expected one", values.size());
}

// The kernel reads every peer's `from`, so it must not write there; the result goes to `to`.
void one_shot(CollectiveCall& call, AlgorithmChoice choice, OperandId from, OperandId to) {
  std::vector<Arg> args = call.emitter().arguments(call.node());
  args[0] = Arg::value(from);
  const OperandId place = call.writable(to, false);
  call.chose(choice.algorithm, choice.reason);
  call.emit("symm_mem.one_shot_all_reduce.default", args, {}, {&place, 1});
}

// In symmetric memory, with a copy where the value can't be there itself.
OperandId read_by_peers(CollectiveCall& call, OperandId value) {
  Emitter& emit = call.emitter();
  if (emit.is_contiguous(value) && !emit.can_realize(value, call.group())) return call.readable(value);
  const OperandId buffer = call.communication_buffer(value);
  CopyReason why = CopyReason::layout;
  if (emit.is_contiguous(value)) why = emit.is_owned(value) ? CopyReason::other_group : CopyReason::not_owned;
  emit.copy(call.node(), value, buffer, why);
  return buffer;
}

void in_place(CollectiveCall& call, AlgorithmChoice choice, OperandId place) {
  const bool two_shot = choice.algorithm == ReduceAlgorithm::two_shot;
  if (two_shot && !call.all_symmetric()) choice = {ReduceAlgorithm::pipelined, AlgorithmReason::not_communicable};
  const bool kernel = choice.algorithm == ReduceAlgorithm::two_shot;
  std::vector<Arg> args = call.emitter().arguments(call.node());
  args[0] = Arg::value(place);
  call.chose(choice.algorithm, choice.reason);
  call.emit(kernel ? "symm_mem.two_shot_all_reduce_.default" : "_c10d_functional.all_reduce_.default", args, {},
            {&place, 1});
}

Status lower_all_reduce(Emitter& emit, NodeId node) {
  HOCKET_TRY(CollectiveCall call, CollectiveCall::of(emit, node));
  HOCKET_TRY(const OperandId value, only_tensor(call));
  HOCKET_TRY(const AlgorithmChoice choice, choice_for(call, value));
  if (choice.algorithm == ReduceAlgorithm::one_shot) {
    const OperandId from = read_by_peers(call, value);
    one_shot(call, choice, from, emit.operand(node));
    return {};
  }
  in_place(call, choice, bring_to_results(call)[0]);
  return {};
}

Status lower_all_reduce_in_place(Emitter& emit, NodeId node) {
  HOCKET_TRY(CollectiveCall call, CollectiveCall::of(emit, node));
  HOCKET_TRY(const OperandId value, only_tensor(call));
  HOCKET_TRY(const AlgorithmChoice choice, choice_for(call, value));
  if (choice.algorithm == ReduceAlgorithm::one_shot) {
    const OperandId buffer = call.communication_buffer(value);
    emit.copy(node, value, buffer, CopyReason::in_place_form);
    one_shot(call, choice, buffer, value);
    return {};
  }
  in_place(call, choice, call.writable(value, true));
  return {};
}

}  // namespace

void add_all_reduce_lowerings(LoweringRegistry& registry) {
  registry.set({"_c10d_functional.all_reduce.default",
                "one-shot or two-shot kernel by size, else copy and the in-place form", lower_all_reduce});
  registry.set({"_c10d_functional.all_reduce_.default",
                "one-shot or two-shot kernel by size, else the transport's in place", lower_all_reduce_in_place});
}

}  // namespace hocket
