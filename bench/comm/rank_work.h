// Checks and measures the collectives of one rank, in buffers that are kept from task to task.
#pragma once

#include <array>

#include "engine.h"

namespace hocket::comm_bench {

class RankWork {
 public:
  explicit RankWork(Engine& engine) : engine_(engine) {}

  Result<Answer> check(const Task& task);
  Result<Answer> measure(const Task& task);
  void release();

 private:
  struct Buffer {
    Memory memory;
    std::int64_t elements = 0;
  };
  // The buffers of a task; those of the task before serve if they have the same size. Collective.
  Result<GroupCall> prepare(const Task& task);
  Status provide(Buffer& buffer, std::int64_t elements, BufferKind kind);
  Status repeat(const Task& task, GroupCall& call);
  Status barrier();

  Engine& engine_;
  // Of each kind of memory, input and output.
  std::array<std::array<Buffer, 2>, 2> buffers_;
  std::int64_t calls_ = 0;  // of this measurement
};

}  // namespace hocket::comm_bench
