// The steps that an Emitter appends, and the communication that they start and complete.
#include <algorithm>

#include "hocket/lower/emitter.h"
#include "lower/storage_use.h"

namespace hocket {

StepId Emitter::step(NodeId node, std::string_view op, std::span<const Arg> args, std::span<const Keyword> keywords,
                     std::span<const OperandId> writes) {
  StepSpec spec;
  const std::string_view own_name = graph_.name(node);
  const bool is_first = !step_names_.taken.contains(std::string(own_name));
  const std::string name = unique_name(own_name, NameKind::own, step_names_);
  spec.name = name;
  spec.op = op;
  spec.args = args;
  spec.keywords = keywords;
  spec.writes = writes;
  if (is_first) {
    spec.gemm = graph_.node(node).gemm;
    spec.integer = graph_.integer(node);
    spec.measured = graph_.node(node).measured;
    // What a capture says of a communication counts where the operator's row can't say it.
    const OpSpec* row = graph_.op_table().find(op);
    const Collective* captured = graph_.collective(node);
    const bool row_knows = row != nullptr && (!row->effects.comm || row->effects.comm->group_arg >= 0);
    if (captured != nullptr && !row_knows) spec.collective = *captured;
  }
  return builder_.step(spec);
}

StepId Emitter::copy(NodeId node, OperandId from, OperandId to, CopyReason reason) {
  const std::string name =
      unique_name(fmt::format("{}_{}", graph_.name(node), reason == CopyReason::copy_back ? "copy_back" : "copy"),
                  NameKind::derived, step_names_);
  StepSpec spec;
  spec.name = name;
  spec.op = "aten.clone.default";
  const Arg arg = Arg::value(from);
  spec.args = {&arg, 1};
  spec.writes = {&to, 1};
  const StepId id = builder_.step(spec);
  report_.copies.push_back(
      {node, id, program().operand(from).buffer, program().operand(to).buffer, reason, tensor_bytes(type(from))});
  return id;
}

bool Emitter::is_fresh(NodeId node, std::size_t output) const {
  return graph_.storage(graph_.outputs(node)[output].storage).allocated_by == node;
}

// Results first, then what the node changes in place and does not give back.
std::vector<OperandId> Emitter::written_by(NodeId node) {
  std::vector<OperandId> writes;
  const bool has_row = graph_.op_spec(node) != nullptr;
  for (std::size_t k = 0; k < graph_.outputs(node).size(); ++k) {
    // A view that an unknown operator gives is no write; where it writes what it looks at, the capture says so below.
    if (has_row || is_fresh(node, k)) writes.push_back(operand(node, k));
  }
  const auto same_place = [&](OperandId a, OperandId b) {
    const Operand& one = program().operand(a);
    const Operand& other = program().operand(b);
    return one.buffer == other.buffer && one.type == other.type && one.offset == other.offset;
  };
  for (const NodeId mutated : graph_.mutates(node)) {
    for (std::size_t k = 0; k < graph_.outputs(mutated).size(); ++k) {
      const OperandId changed = operand(mutated, k);
      const auto same = [&](OperandId written) { return same_place(written, changed); };
      if (std::none_of(writes.begin(), writes.end(), same)) writes.push_back(changed);
    }
  }
  if (graph_.outputs(node).empty() && use_->is_used(node)) writes.push_back(number(node));
  return writes;
}

Status Emitter::ordinary(NodeId node) {
  if (is_known_number(node) && !use_->is_returned(node)) {
    ++report_.vanished;
    return {};
  }
  const std::vector<Arg> args = arguments(node);
  const std::vector<Keyword> keywords = this->keywords(node);
  const StepId id = step(node, graph_.op_name(node), args, keywords, written_by(node));
  if (graph_.collective(node) != nullptr) communicates(node, id, {});
  return {};
}

// ---- communication

void Emitter::count_flights(StepId step, int change) {
  for (const auto list : {program().reads(step), program().writes(step)}) {
    for (const OperandId operand : list) buffers_[program().operand(operand).buffer.index()].flights += change;
  }
}

void Emitter::communicates(NodeId node, StepId step, std::vector<CopyBack> copies_back) {
  CollectiveRecord& record = collectives_[node.index()];
  const bool blocking = program().collective(step) == nullptr || is_blocking(program().op_spec(step));
  record = {blocking ? Flight::blocking : Flight::flying, step, std::move(copies_back)};
  if (!blocking) return count_flights(step, 1);
  for (const CopyBack& back : record.copies_back) copy(node, back.from, back.to, CopyReason::copy_back);
}

void Emitter::wait(NodeId node) {
  const NodeId awaited = graph_.node(node).wait_of;
  const auto drop = [&](DroppedWaitReason reason) { report_.dropped_waits.push_back({node, awaited, reason}); };
  if (!awaited.valid()) return wait_for_input(node);
  CollectiveRecord& record = collectives_[awaited.index()];
  if (record.state == Flight::blocking) return drop(DroppedWaitReason::blocking);
  if (record.state == Flight::landed) return drop(DroppedWaitReason::already_waited);
  if (record.state == Flight::none) return drop(DroppedWaitReason::nothing_in_flight);

  const auto written = program().writes(record.step);
  const std::vector<OperandId> results(written.begin(), written.end());
  StepSpec spec;
  const std::string name = unique_name(graph_.name(node), NameKind::own, step_names_);
  spec.name = name;
  spec.op = graph_.op_name(node);
  std::vector<Arg> args;
  if (!results.empty()) args.push_back(Arg::value(results[0]));
  spec.args = args;
  spec.reads = results;  // one wait completes all of them
  spec.waits_for = record.step;
  spec.measured = graph_.node(node).measured;
  builder_.step(spec);
  record.state = Flight::landed;
  count_flights(record.step, -1);
  for (const CopyBack& back : record.copies_back) copy(awaited, back.from, back.to, CopyReason::copy_back);
}

// A communication that was started outside: only an input can be in flight already.
void Emitter::wait_for_input(NodeId node) {
  const auto inputs = graph_.inputs(node);
  const bool has_tensor = !inputs.empty() && !graph_.outputs(inputs[0]).empty();
  if (!has_tensor || is_owned(operand(inputs[0]))) {
    report_.dropped_waits.push_back({node, NodeId::none(), DroppedWaitReason::nothing_in_flight});
    return;
  }
  const OperandId input = operand(inputs[0]);
  const Arg arg = Arg::value(input);
  step(node, graph_.op_name(node), {&arg, 1}, {}, {&input, 1});
}

}  // namespace hocket
