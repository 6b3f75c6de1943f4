// A Program that can be changed, as GraphDraft is for graphs.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "hocket/ir/program.h"

namespace hocket {

struct DraftBuffer {
  std::string name;
  Home home = Home::arena;
  GroupId group;
  std::string device = "cpu";
  Dim bytes = 0;
  std::int64_t placed_at = -1;
};

struct DraftOperand {
  BufferId buffer;
  Dtype dtype = Dtype::f32;
  std::vector<Dim> shape;
  std::vector<Dim> strides;
  Dim offset = 0;
};

struct DraftStep {
  std::string name;
  std::string op;
  std::vector<Arg> args;
  std::vector<Keyword> keywords;
  std::vector<OperandId> reads;
  std::vector<OperandId> writes;
  std::optional<Collective> collective;
  StepId waits_for;
  bool gemm = false;
  std::optional<std::int64_t> integer;
  Measured measured;
};

struct ProgramDraft {
  std::string name;
  std::vector<Group> groups;
  SymbolTable symbols;
  ArgPool pool;
  std::vector<DraftBuffer> buffers;
  std::vector<DraftOperand> operands;
  std::vector<DraftStep> steps;
  std::vector<OperandId> results;

  static ProgramDraft of(const Program& program);
  Result<Program> build() const;

  const DraftBuffer& buffer_of(OperandId operand) const { return buffers[operands[operand.index()].buffer.index()]; }
  // Takes a step out; what waits for it waits for nothing then.
  void erase(StepId id);
  void swap(StepId a, StepId b);
};

}  // namespace hocket
