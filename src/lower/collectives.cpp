#include "lower/collectives.h"

#include <algorithm>
#include <initializer_list>

#include "ir/node_facts.h"
#include "lower/in_place_form.h"

namespace hocket {

namespace {

constexpr std::size_t tail_argument = 4;  // of hocket's own all-to-alls

// The same call with other tensors as argument 0.
std::vector<Arg> with_first(CollectiveCall& call, const std::vector<OperandId>& first) {
  std::vector<Arg> args = call.emitter().arguments(call.node());
  if (!args.empty()) args[0] = like_first_argument(call, first);
  return args;
}

// broadcast, all_reduce_coalesced: copies where needed, then the in-place form.
Status lower_to_in_place(Emitter& emit, NodeId node, std::string_view in_place_op) {
  HOCKET_TRY(CollectiveCall call, CollectiveCall::of(emit, node));
  const std::vector<OperandId> places = bring_to_results(call);
  call.emit(in_place_op, with_first(call, places), {}, places);
  return {};
}

// broadcast_, all_reduce_coalesced_: as they are.
Status lower_in_place(Emitter& emit, NodeId node) {
  HOCKET_TRY(CollectiveCall call, CollectiveCall::of(emit, node));
  std::vector<OperandId> places;
  for (const OperandId value : call.tensors(0)) places.push_back(call.writable(value, true));
  call.emit(emit.graph().op_name(node), with_first(call, places), emit.keywords(node), places);
  return {};
}

// Results in buffers of their own: all_gather, reduce_scatter, all_to_all and their coalesced forms.
Status lower_to_new_results(Emitter& emit, NodeId node) {
  HOCKET_TRY(CollectiveCall call, CollectiveCall::of(emit, node));
  if (sizes_may_differ(emit.graph(), node)) call.keep_ordinary(OrdinaryReason::uneven_parts);
  std::vector<OperandId> reads;
  for (const OperandId value : call.tensors(0)) reads.push_back(call.readable(value));
  std::vector<OperandId> writes;
  for (std::size_t k = 0; k < emit.graph().outputs(node).size(); ++k)
    writes.push_back(call.writable(emit.operand(node, k), false));
  call.emit(emit.graph().op_name(node), with_first(call, reads), emit.keywords(node), writes);
  return {};
}

// An all-to-all whose parts lie in rows goes as messages between two ranks, and what comes behind its result is copied there.
template <bool in_rows>
Status lower_exchange(Emitter& emit, NodeId node) {
  HOCKET_TRY(CollectiveCall call, CollectiveCall::of(emit, node));
  if (in_rows) call.keep_ordinary(OrdinaryReason::point_to_point);
  else if (sizes_may_differ(emit.graph(), node)) call.keep_ordinary(OrdinaryReason::uneven_parts);
  std::vector<OperandId> reads;
  for (const OperandId value : call.tensors(0)) reads.push_back(call.readable(value));
  std::vector<Arg> args = with_first(call, reads);
  for (const OperandId tail : call.tensors(tail_argument)) args[tail_argument] = Arg::value(call.readable(tail));
  const OperandId result = call.writable(emit.operand(node, 0), false);
  call.emit(emit.graph().op_name(node), args, emit.keywords(node), std::vector{result});
  return {};
}

// The result goes to the `out` keyword argument.
Status lower_to_out(Emitter& emit, NodeId node) {
  HOCKET_TRY(CollectiveCall call, CollectiveCall::of(emit, node));
  std::vector<OperandId> reads;
  for (const OperandId value : call.tensors(0)) reads.push_back(call.readable(value));
  std::vector<OperandId> writes;
  std::vector<Keyword> keywords = emit.keywords(node);
  for (Keyword& keyword : keywords) {
    if (emit.graph().pool().strings[keyword.key] != "out" || !keyword.value.is(ArgKind::value)) continue;
    writes.push_back(call.writable(keyword.value.as_operand(), false));
    keyword.value = Arg::value(writes.back());
  }
  if (writes.size() != 1) return fail(ErrorKind::input, "keyword argument out is missing or no tensor");
  call.emit(emit.graph().op_name(node), with_first(call, reads), keywords, writes);
  return {};
}

// A kernel that a capture has already: it wants its first argument in symmetric memory.
Status lower_kernel(Emitter& emit, NodeId node) {
  HOCKET_TRY(CollectiveCall call, CollectiveCall::of(emit, node));
  LoweredCollective lowered{node, StepId::none(), ReduceAlgorithm::pipelined, AlgorithmReason::no_kernel, {}};
  for (const OperandId value : call.tensors(0))
    lowered.buffers.push_back({emit.program().operand(value).buffer, emit.realize(value, call.group())});
  HOCKET_CHECK(emit.ordinary(node));
  lowered.step = StepId(emit.program().size() - 1);
  emit.report().collectives.push_back(std::move(lowered));
  return {};
}

// Two ranks of the group: contiguous, but never in symmetric memory.
Status lower_send(Emitter& emit, NodeId node) {
  HOCKET_TRY(CollectiveCall call, CollectiveCall::of(emit, node));
  call.keep_ordinary(OrdinaryReason::point_to_point);
  std::vector<OperandId> reads;
  for (const OperandId value : call.tensors(0)) reads.push_back(call.readable(value));
  std::vector<OperandId> writes;
  for (std::size_t k = 0; k < emit.graph().outputs(node).size(); ++k) writes.push_back(emit.operand(node, k));
  call.emit(emit.graph().op_name(node), with_first(call, reads), emit.keywords(node), writes);
  return {};
}

Status lower_wait(Emitter& emit, NodeId node) {
  emit.wait(node);
  return {};
}

void add(LoweringRegistry& registry, std::string_view space, std::initializer_list<std::string_view> names,
         std::string_view summary, const std::function<Status(Emitter&, NodeId)>& run) {
  for (const std::string_view name : names)
    registry.set({fmt::format("{}.{}.default", space, name), std::string(summary), run});
}

}  // namespace

bool sizes_may_differ(const Graph& graph, NodeId node) {
  const Collective* collective = graph.collective(node);
  if (collective == nullptr || collective->kind != CollectiveKind::all_to_all) return false;
  return std::ranges::any_of(graph.args(node),
                             [&](const Arg& arg) { return arg.is(ArgKind::list) && !are_equal_sizes(graph, arg); });
}

void add_collective_lowerings(LoweringRegistry& registry) {
  constexpr std::string_view space = "_c10d_functional";
  for (const std::string_view name : {"broadcast", "all_reduce_coalesced"}) {
    const std::string in_place_op = fmt::format("{}.{}_.default", space, name);
    add(registry, space, {name}, "copy and the in-place form",
        [in_place_op](Emitter& emit, NodeId node) { return lower_to_in_place(emit, node, in_place_op); });
  }
  add(registry, space, {"broadcast_", "all_reduce_coalesced_"}, "in place", lower_in_place);
  constexpr std::string_view to_new = "from and to communication buffers";
  for (const std::string_view either : {space, std::string_view("_c10d_functional_autograd")}) {
    add(registry, either, {"all_gather_into_tensor", "reduce_scatter_tensor", "all_to_all_single"}, to_new,
        lower_to_new_results);
  }
  add(registry, space, {"all_gather_into_tensor_coalesced", "reduce_scatter_tensor_coalesced"}, to_new,
      lower_to_new_results);
  add(registry, "_dtensor", {"shard_dim_alltoall"}, to_new, lower_to_new_results);
  add(registry, "hocket", {"all_gather_along", "reduce_scatter_along"}, to_new, lower_to_new_results);
  add(registry, "hocket", {"all_to_all_along"}, "from and to contiguous memory", lower_exchange<true>);
  add(registry, "hocket", {"all_to_all_single"}, to_new, lower_exchange<false>);
  add(registry, space, {"all_gather_into_tensor_out", "reduce_scatter_tensor_out"},
      "from a communication buffer to `out`", lower_to_out);
  add(registry, "symm_mem",
      {"one_shot_all_reduce", "multimem_one_shot_all_reduce", "one_shot_all_reduce_out",
       "multimem_one_shot_all_reduce_out", "two_shot_all_reduce_", "multimem_all_reduce_", "two_shot_all_reduce_out",
       "one_shot_all_reduce_copy", "one_shot_all_reduce_copy_out"},
      "as it is, its first argument in symmetric memory", lower_kernel);
  add(registry, space, {"isend"}, "from contiguous memory", lower_send);
  add(registry, space, {"wait_tensor"}, "a wait for the collective's step, or nothing where none is needed",
      lower_wait);
}

}  // namespace hocket
