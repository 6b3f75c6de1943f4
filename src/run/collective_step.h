// A step that communicates, ready to be started any number of times.
#pragma once

#include <chrono>
#include <vector>

#include "hocket/comm/communicator.h"
#include "hocket/ir/program.h"
#include "run/program_memory.h"

namespace hocket {

class CollectiveStep {
 public:
  static Result<CollectiveStep> create(const Program& program, StepId step, const ProgramGroups& groups,
                                       std::chrono::milliseconds timeout);

  bool blocks() const { return options_.blocking; }  // it is complete when start() returns
  // Reads and writes the memory as it is bound now. What could not be started is a Work that has failed.
  Work start(const ProgramMemory& memory);

 private:
  // A contiguous tensor in a buffer.
  struct Tensor {
    BufferId buffer;
    std::int64_t offset = 0;  // bytes
    std::byte* in(const ProgramMemory& memory) const { return memory.at(buffer) + offset; }
  };
  struct Part {
    Tensor input;
    Tensor output;
    std::int64_t count = 0;
  };
  // What is only copied, by the thread that starts the step.
  struct Copy {
    Tensor from;
    Tensor to;
    std::int64_t bytes = 0;
  };

  explicit CollectiveStep(const Communicator& group) : group_(group) {}
  Status take_tensors(const Program& program, StepId step);
  Status cut_to_rows(std::int64_t rows);
  Status take_tail(const Program& program, StepId step);
  Status take_exchanged_rows(const Program& program, StepId step);
  Status take_messages(const Program& program, StepId step);
  Status take_arguments(const Program& program, StepId step);
  static Result<Tensor> tensor_of(const Program& program, OperandId operand);

  Communicator group_;
  CollectiveKind kind_ = CollectiveKind::all_reduce;
  Dtype dtype_ = Dtype::f32;
  ReduceOp reduce_ = ReduceOp::sum;
  CallOptions options_;
  std::int32_t source_ = 0;
  std::vector<std::int64_t> input_splits_, output_splits_;  // elements; empty: equal parts
  std::vector<Part> parts_;
  std::vector<Transfer> transfers_;  // made anew at each start, without an allocation
  bool in_messages_ = false;         // it sends and receives
  std::vector<Message> messages_;    // then, instead of transfers
  std::vector<Copy> copies_;         // beside them
};

}  // namespace hocket
