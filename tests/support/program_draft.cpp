#include "support/program_draft.h"

namespace hocket {

ProgramDraft ProgramDraft::of(const Program& program) {
  ProgramDraft draft;
  draft.name = program.name();
  draft.groups.assign(program.groups().begin(), program.groups().end());
  draft.symbols = program.symbols();
  draft.pool = program.pool();
  for (std::size_t i = 0; i < program.buffers().size(); ++i) {
    const Buffer& buffer = program.buffer(BufferId(i));
    draft.buffers.push_back({std::string(program.name(BufferId(i))), buffer.home, buffer.group,
                             std::string(program.device(buffer.device)), buffer.bytes, buffer.placed_at});
  }
  for (std::size_t i = 0; i < program.operand_count(); ++i) {
    const TypeView type = program.type(OperandId(i));
    draft.operands.push_back({program.operand(OperandId(i)).buffer,
                              type.dtype,
                              {type.shape.begin(), type.shape.end()},
                              {type.strides.begin(), type.strides.end()},
                              type.offset});
  }
  for (std::size_t i = 0; i < program.size(); ++i) {
    const StepId id(i);
    const Step& step = program.step(id);
    DraftStep copy;
    copy.name = program.name(id);
    copy.op = program.op_name(id);
    copy.args.assign(program.args(id).begin(), program.args(id).end());
    copy.keywords.assign(program.keywords(id).begin(), program.keywords(id).end());
    copy.reads.assign(program.reads(id).begin(), program.reads(id).end());
    copy.writes.assign(program.writes(id).begin(), program.writes(id).end());
    if (const Collective* collective = program.collective(id)) copy.collective = *collective;
    copy.waits_for = step.waits_for;
    copy.gemm = step.gemm;
    if (step.has_integer) copy.integer = step.integer;
    copy.measured = step.measured;
    draft.steps.push_back(std::move(copy));
  }
  draft.results.assign(program.results().begin(), program.results().end());
  return draft;
}

Result<Program> ProgramDraft::build() const {
  ProgramBuilder builder(name);
  for (const Group& group : groups) builder.tables().group(group);
  builder.tables().symbols() = symbols;
  builder.tables().pool() = pool;
  for (const DraftBuffer& buffer : buffers) {
    builder.buffer(buffer.name, buffer.home, buffer.bytes, buffer.group, buffer.device, buffer.placed_at);
  }
  for (const DraftOperand& operand : operands) {
    HOCKET_CHECK(builder.operand(operand.buffer, operand.dtype, operand.shape, Dims(operand.strides), operand.offset));
  }
  for (const DraftStep& step : steps) {
    StepSpec spec;
    spec.name = step.name;
    spec.op = step.op;
    spec.args = step.args;
    spec.keywords = step.keywords;
    spec.reads = std::span<const OperandId>(step.reads);
    spec.writes = step.writes;
    spec.collective = step.collective;
    spec.waits_for = step.waits_for;
    spec.gemm = step.gemm;
    spec.integer = step.integer;
    spec.measured = step.measured;
    builder.step(spec);
  }
  builder.results(results);
  return builder.finish();
}

void ProgramDraft::erase(StepId id) {
  steps.erase(steps.begin() + static_cast<std::ptrdiff_t>(id.index()));
  for (DraftStep& step : steps) {
    if (!step.waits_for.valid() || step.waits_for.index() < id.index()) continue;
    step.waits_for = step.waits_for == id ? StepId::none() : StepId(step.waits_for.index() - 1);
  }
}

void ProgramDraft::swap(StepId a, StepId b) {
  std::swap(steps[a.index()], steps[b.index()]);
  for (DraftStep& step : steps) {
    if (step.waits_for == a) step.waits_for = b;
    else if (step.waits_for == b) step.waits_for = a;
  }
}

}  // namespace hocket
