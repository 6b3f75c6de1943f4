#include "lower/collective_call.h"

#include <algorithm>

namespace hocket {

Result<CollectiveCall> CollectiveCall::of(Emitter& emit, NodeId node) {
  const Graph& graph = emit.graph();
  const OpSpec* spec = graph.op_spec(node);
  const int position = spec != nullptr && spec->effects.comm ? spec->effects.comm->group_arg : -1;
  const auto args = graph.args(node);
  const bool has_group = position >= 0 && static_cast<std::size_t>(position) < args.size() &&
                         args[static_cast<std::size_t>(position)].is(ArgKind::group);
  if (has_group) return CollectiveCall(emit, node, args[static_cast<std::size_t>(position)].as_group());
  return fail(ErrorKind::input, "{} communicates, but argument {} is no group of the program; verify() says more",
              graph.op_name(node), position);
}

std::vector<OperandId> CollectiveCall::tensors(std::size_t argument) {
  std::vector<OperandId> operands;
  const Graph& graph = emit_.graph();
  if (argument >= graph.args(node_).size()) return operands;
  graph.pool().for_each_value(graph.args(node_)[argument], [&](const Arg& value) {
    for (std::size_t k = 0; k < graph.outputs(value.as_node()).size(); ++k)
      operands.push_back(emit_.operand(value.as_node(), k));
  });
  return operands;
}

std::optional<OrdinaryReason> CollectiveCall::realize(OperandId value) {
  return ordinary_ ? ordinary_ : emit_.realize(value, group_);
}

void CollectiveCall::note(OperandId value, std::optional<OrdinaryReason> ordinary) {
  const BufferId buffer = emit_.program().operand(value).buffer;
  for (const CollectiveBuffer& known : lowered_.buffers) {
    if (known.buffer == buffer) return;
  }
  lowered_.buffers.push_back({buffer, ordinary});
}

OperandId CollectiveCall::communication_buffer(OperandId like) {
  const OperandId made = emit_.temporary(fmt::format("{}_buffer", emit_.graph().name(node_)), like);
  note(made, realize(made));
  return made;
}

OperandId CollectiveCall::readable(OperandId value) {
  CopyReason why = CopyReason::layout;
  if (emit_.is_contiguous(value)) {
    const auto ordinary = realize(value);
    note(value, ordinary);
    const bool small = tensor_bytes(emit_.type(value)) <= emit_.options().copy_in_limit;
    if (ordinary == OrdinaryReason::other_group) why = CopyReason::other_group;
    else if (ordinary == OrdinaryReason::not_owned && small) why = CopyReason::not_owned;
    else return value;
  }
  const OperandId buffer = communication_buffer(value);
  emit_.copy(node_, value, buffer, why);
  return buffer;
}

OperandId CollectiveCall::writable(OperandId value, bool also_read) {
  CopyReason why = CopyReason::layout;
  if (emit_.is_contiguous(value)) {
    const auto ordinary = realize(value);
    note(value, ordinary);
    // What the program does not own is written where it is: the way back would cost a second copy.
    if (ordinary != OrdinaryReason::other_group) return value;
    why = CopyReason::other_group;
  }
  const OperandId buffer = communication_buffer(value);
  if (also_read) emit_.copy(node_, value, buffer, why);
  copies_back_.push_back({buffer, value});
  return buffer;
}

bool CollectiveCall::all_symmetric() const {
  return std::none_of(lowered_.buffers.begin(), lowered_.buffers.end(),
                      [](const CollectiveBuffer& buffer) { return buffer.ordinary.has_value(); });
}

StepId CollectiveCall::emit(std::string_view op, std::span<const Arg> args, std::span<const Keyword> keywords,
                            std::span<const OperandId> writes) {
  const StepId step = emit_.step(node_, op, args, keywords, writes);
  lowered_.step = step;
  emit_.report().collectives.push_back(std::move(lowered_));
  emit_.communicates(node_, step, std::move(copies_back_));
  return step;
}

}  // namespace hocket
