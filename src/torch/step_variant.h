// A step, compiled for inputs of one kind.
#pragma once

#include <memory>
#include <vector>

#include "hocket/torch/compile.h"
#include "torch/aten_kernels.h"
#include "torch/input_types.h"

namespace hocket {

// Returns when an input that was on its way has come.
using Arrival = std::function<Status()>;

class StepCompiler;
class StepTimes;

class StepVariant {
 public:
  // Collective over the world.
  static Result<std::unique_ptr<StepVariant>> create(const StepFunction& step, const std::vector<at::Tensor>& inputs,
                                                     InputTypes types, const World& world, const StepOptions& options);
  // Arrivals: none, or one for each input.
  Result<std::vector<at::Tensor>> run(const std::vector<at::Tensor>& inputs, const std::vector<NamedTensor>& parameters,
                                      const std::vector<Arrival>& arrivals = {});

  // Completes the last run, if it left something.
  Status finish();
  ~StepVariant() { static_cast<void>(finish()); }
  StepVariant(const StepVariant&) = delete;
  StepVariant& operator=(const StepVariant&) = delete;

  const InputTypes types;
  const Capture captured;
  const Compiled compiled;
  const CostOptions cost;  // that it was compiled with
  const Executor& executor() const { return *executor_; }

 private:
  // A tensor that the caller has, and the buffer that stands for its memory.
  struct Brought {
    BufferId buffer;          // none(): nothing uses it
    std::int64_t offset = 0;  // of the tensor in the buffer, in bytes
    bool written = false;
  };
  struct ResultPlace {
    OperandId operand;
    std::optional<std::size_t> brought;  // it lies in the memory of this input
  };

  StepVariant(InputTypes its_types, Capture its_capture, Compiled its_compiled, CostOptions its_cost)
      : types(std::move(its_types)),
        captured(std::move(its_capture)),
        compiled(std::move(its_compiled)),
        cost(std::move(its_cost)) {}
  Status prepare(const World& world, ExecutorOptions options);
  // What a step is made from.
  struct Making {
    const InputTypes& types;
    const Capture& captured;
    const std::vector<at::Tensor>& inputs;
    const World& world;
    const StepOptions& options;
  };
  static Status measure(CostOptions& cost, const StepCompiler& compiler, const Making& making);
  static Status measure_runs(CostOptions& cost, Compiled compiled, const Making& making);
  // As often as the options say; what the runs wrote is put back.
  Status run_for(StepTimes& times, const Making& making);
  std::vector<at::Tensor> all_tensors(const std::vector<at::Tensor>& inputs,
                                      const std::vector<NamedTensor>& parameters) const;
  // Arguments may be gone when the next run comes.
  bool tail_needs_arguments() const;
  void find_brought();
  void find_results();
  std::vector<at::Tensor> results(const std::vector<at::Tensor>& brought);

  AtenKernels kernels_;
  std::unique_ptr<Executor> executor_;
  std::vector<Brought> brought_;  // inputs, parameters, attributes
  std::vector<ResultPlace> results_;
  std::vector<InputMemory> memory_;
};

}  // namespace hocket
