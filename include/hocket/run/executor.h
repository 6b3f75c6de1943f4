// Runs a planned program, again and again: it computes in the calling thread and communicates beside it.
//
//   HOCKET_TRY(const auto executor, Executor::create(program, kernels, world));
//   HOCKET_CHECK(executor->run(inputs));          // addresses of the input and constant buffers
//
// All memory is taken once: an arena for this rank, and one in symmetric memory for each group. A run allocates nothing but what a
// kernel allocates inside.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "hocket/comm/world.h"
#include "hocket/ir/program.h"
#include "hocket/run/kernels.h"
#include "hocket/run/timeline_record.h"

namespace hocket {

struct ExecutorOptions {
  std::chrono::milliseconds timeout{300'000};  // of each communication
  bool record = false;                         // keep a RunRecord of the last run
  // A run returns before its tail (hocket/ir/tail.h), which runs beside the beginning of the next run, or in finish(). The program
  // must have been planned for it.
  bool carry = false;
};

struct InputMemory {
  BufferId buffer;
  std::byte* memory = nullptr;
  // If given: something is still on its way into the memory, and this returns when it has come. Called before the first step that
  // uses the buffer.
  std::function<Status()> arrival = {};
};

class Executor {
 public:
  // Collective over the world's ranks that run the program: they form its groups and allocate symmetric memory. The kernels
  // outlive the executor.
  static Result<std::unique_ptr<Executor>> create(Program program, KernelProvider& kernels, const World& world,
                                                  const ExecutorOptions& options = {});
  Executor(const Executor&) = delete;
  Executor& operator=(const Executor&) = delete;
  ~Executor();

  // Every buffer with the home input or constant must have memory, now or from an earlier run. The results lie in their
  // buffers until the next run, or finish(). After a failure nothing is in flight any more; where another rank is the cause, all ranks of
  // all of the program's groups hear of it, and these groups can't be used again.
  Status run(std::span<const InputMemory> inputs);
  // Runs what the last run has left. Without ExecutorOptions::carry there is nothing.
  Status finish();

  const Program& program() const;
  std::byte* memory(BufferId buffer) const;  // null: it has none
  Bytes planned() const;                     // of all arenas
  bool carries() const;                      // whether runs leave something to the next ones
  const RunRecord& last_run() const;

 private:
  struct State;
  explicit Executor(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace hocket
