// Compiles a training step: captures what it does, hides its communication behind its computation, and runs it on memory that was
// planned once.
//
//   Result<CompiledStep> step = compile(train_step, {x, y}, {.parameters = named_tensors(*model)});
//   for (const Batch& batch : data) loss = (*step)({batch.x, batch.y})[0];      // what train_step would return
//
// The compiled step does what the function does with the tensors that it is given, its parameters and other tensors that it
// uses; a learning rate, a count of steps and other numbers of the host stay what they were when it was captured. Gradients that
// the function leaves in .grad are not left there: return them. Other shapes than before are captured and compiled again, and the
// results are kept: compilations() counts.
#pragma once

#include <ATen/core/Tensor.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "hocket/comm/world.h"
#include "hocket/compile/compile.h"
#include "hocket/run/executor.h"
#include "hocket/torch/async_tensor.h"
#include "hocket/torch/capture.h"

namespace hocket {

// Graph passes, then lower, then passes over programs, then plan. Without passes of the user's own, compile() tries these with several
// sizes of buckets, and `overlap` in their place, and keeps what takes the least time by the cost model.
std::vector<PassCall> default_step_passes();

struct StepOptions {
  std::string name = "step";
  std::vector<NamedTensor> parameters = {};   // what it reads and writes besides its arguments: named_tensors(*model)
  std::optional<World> world = {};            // absent: World::current()
  std::vector<PassCall> passes = {};          // empty: default_step_passes()
  std::optional<PassRegistry> registry = {};  // where the passes are found; absent: hocket's own
  MemoryLimit memory_limit = {};
  CostOptions cost = {};  // without a machine: the CPUs of this host
  int measured_runs = 0;  // run the step so often before it is compiled for good, and decide by what it took
  // A run returns with its results while gradients are still under way; the parameters that wait for them change in the next run,
  // just before it uses them, or in finish(). Between runs, the parameters are what finish() leaves.
  bool across_steps = false;
  bool record = false;  // keep when what happened in the last run
  std::chrono::milliseconds timeout{300'000};
};

class CompiledStep {
 public:
  CompiledStep(CompiledStep&&) noexcept;
  CompiledStep& operator=(CompiledStep&&) noexcept;
  ~CompiledStep();

  // What the function returns. A result that is one of the inputs or parameters is that tensor's memory; others are new tensors.
  // A failure leaves inputs and parameters half written.
  Result<std::vector<at::Tensor>> run(const std::vector<at::Tensor>& inputs);
  // The same of inputs that may still be on their way: where AllowInflightInputs says so, each is waited for before the first
  // step that uses it; otherwise all before the first step.
  Result<std::vector<at::Tensor>> run_in_flight(const std::vector<AsyncTensor>& inputs);
  // With StepOptions::across_steps: completes the last run, parameters and all. Before anybody looks at them, saves them or changes
  // them; runs and the end of this object do it by themselves.
  Status finish();
  // As run(); throws CollectiveError.
  std::vector<at::Tensor> operator()(const std::vector<at::Tensor>& inputs);

  // Of the inputs that ran last.
  const Graph& graph() const;
  const Compiled& compiled() const;
  const Executor& executor() const;
  Nanoseconds predicted() const;  // what a run takes, by the cost model
  // A page that shows the captured step, the compiled one and, with StepOptions::record, the last run: one file, needs no network.
  Status report(const std::string& path) const;
  std::size_t compilations() const;
  const std::string& why_compiled() const;  // the last time: "input 0 is f32[8,4], compiled were f32[16,4]"

 private:
  struct State;
  friend Result<CompiledStep> compile(StepFunction step, const std::vector<at::Tensor>& example_inputs,
                                      StepOptions options);
  explicit CompiledStep(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

// Collective over the world: all ranks compile the same step, agree on what everything takes and compare what they decided. With
// measured_runs, what these write and the state of the random generator are put back.
Result<CompiledStep> compile(StepFunction step, const std::vector<at::Tensor>& example_inputs,
                             StepOptions options = {});

}  // namespace hocket
