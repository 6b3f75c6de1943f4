#include "cost/calls.h"

#include <algorithm>

namespace hocket {

namespace {

bool waits(const OpSpec* row) { return row != nullptr && row->effects.waits; }

bool is_view_by_row(const OpSpec* row) {
  if (row == nullptr) return false;
  const Effects& effects = row->effects;
  return effects.alias == Alias::first && effects.mutates == 0 && !effects.mutates_out && !effects.comm;
}

}  // namespace

bool GraphCalls::takes_nothing(std::size_t i) const {
  const NodeId id(i);
  const Node& node = graph_.node(id);
  if (node.kind != NodeKind::op) return true;
  if (graph_.collective(id) != nullptr) return false;
  const bool view = node.view_of.valid() && graph_.mutates(id).empty();
  return view || node.wait_of.valid() || waits(row(i)) || is_view_by_row(row(i));
}

Bytes GraphCalls::moved(std::size_t, const Collective& comm) const { return comm.bytes_in + comm.bytes_out; }

std::vector<TypeView> GraphCalls::results(std::size_t i) const {
  std::vector<TypeView> types;
  for (const Output& output : graph_.outputs(NodeId(i))) types.push_back(graph_.type(output));
  return types;
}

bool ProgramCalls::takes_nothing(std::size_t i) const {
  const StepId id(i);
  if (program_.collective(id) != nullptr) return false;
  if (program_.step(id).waits_for.valid() || waits(row(i)) || is_view_by_row(row(i))) return true;
  // What may be a view is one where its result lies in the buffer that it reads.
  if (row(i) == nullptr || row(i)->effects.alias != Alias::either || row(i)->effects.mutates != 0) return false;
  const auto reads = program_.reads(id);
  const auto writes = program_.writes(id);
  return writes.empty() || std::any_of(reads.begin(), reads.end(), [&](OperandId read) {
           return program_.operand(read).buffer == program_.operand(writes[0]).buffer;
         });
}

Bytes ProgramCalls::moved(std::size_t i, const Collective& comm) const {
  Bytes moved = comm.bytes_in + comm.bytes_out;
  if (row(i) == nullptr || !row(i)->effects.mutates_out) return moved;
  // A preallocated `out` stands among the reads, but it is only written.
  const auto reads = program_.reads(StepId(i));
  for (const Keyword& keyword : program_.keywords(StepId(i))) {
    if (program_.pool().strings[keyword.key] != "out" || !keyword.value.is(ArgKind::value)) continue;
    const OperandId out = keyword.value.as_operand();
    if (std::find(reads.begin(), reads.end(), out) != reads.end()) moved -= tensor_bytes(program_.type(out));
  }
  return moved;
}

std::vector<TypeView> ProgramCalls::results(std::size_t i) const {
  std::vector<TypeView> types;
  for (const OperandId written : program_.writes(StepId(i))) types.push_back(program_.type(written));
  return types;
}

}  // namespace hocket
