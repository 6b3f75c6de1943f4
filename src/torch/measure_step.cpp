#include "hocket/torch/measure_step.h"

#include <ATen/ATen.h>

#include "hocket/run/all_ranks.h"
#include "hocket/run/executor.h"
#include "hocket/run/measure_collectives.h"
#include "hocket/run/step_times.h"
#include "torch/aten_kernels.h"
#include "torch/step_compiler.h"

namespace hocket {

namespace {

// Memory for what a caller brings, filled by the types of the tensors that lie in it.
class MadeUpInputs {
 public:
  static Result<MadeUpInputs> create(const Program& program, AtenKernels& kernels) {
    MadeUpInputs made;
    for (std::size_t i = 0; i < program.buffers().size(); ++i) {
      const Buffer& buffer = program.buffer(BufferId(i));
      if (buffer.home != Home::input && buffer.home != Home::constant) continue;
      if (!buffer.bytes.is_static()) {
        return fail(ErrorKind::input,
                    "the size of {} is symbolic: capture the step with inputs of the sizes to measure",
                    program.name(BufferId(i)));
      }
      if (buffer.bytes.value() == 0) continue;
      made.memory_.push_back(at::zeros({buffer.bytes.value()}, at::kByte));
      made.inputs_.push_back({BufferId(i), static_cast<std::byte*>(made.memory_.back().data_ptr())});
      kernels.bind(BufferId(i), made.inputs_.back().memory);
    }
    for (std::size_t i = 0; i < program.operand_count(); ++i) {
      const Home home = program.buffer(program.operand(OperandId(i)).buffer).home;
      if ((home != Home::input && home != Home::constant) || program.is_number(OperandId(i))) continue;
      HOCKET_TRY(at::Tensor tensor, kernels.tensor(OperandId(i)));
      constexpr double largest = 0.1;  // neither overflows nor becomes denormal in a chain of usual layers
      if (tensor.numel() > 0 && at::isFloatingType(tensor.scalar_type())) tensor.uniform_(-largest, largest);
    }
    return made;
  }

  const std::vector<InputMemory>& inputs() const { return inputs_; }

 private:
  std::vector<at::Tensor> memory_;
  std::vector<InputMemory> inputs_;
};

Status check_devices(const Graph& graph) {
  for (std::size_t i = 0; i < graph.size(); ++i) {
    for (const Output& output : graph.outputs(NodeId(i))) {
      const std::string_view device = graph.device(output.device);
      if (device == "cpu" || device == host_device) continue;
      return fail(ErrorKind::usage, "{} is on {}: libtorch's kernels for the cpu can be measured and no others",
                  graph.name(NodeId(i)), device);
    }
  }
  return {};
}

}  // namespace

Result<MeasuredStep> measure_step(const Graph& graph, const World& world, const MeasureStepOptions& options) {
  HOCKET_CHECK(check_devices(graph));
  StepOptions step;
  step.name = std::string(graph.name());
  CostOptions cost;
  HOCKET_TRY(cost.machine, find_machine("cpu"));
  HOCKET_TRY(const Compiled compiled, StepCompiler(world, step).compile_once(graph, cost));
  AtenKernels kernels;
  HOCKET_TRY(const std::unique_ptr<Executor> executor,
             Executor::create(*compiled.program(), kernels, world, {options.timeout, true}));
  HOCKET_TRY(const MadeUpInputs made, MadeUpInputs::create(executor->program(), kernels));
  MeasuredStep measured;
  HOCKET_TRY(measured.collectives, measure_collectives(executor->program(), world, {.timeout = options.timeout}));
  StepTimes times(executor->program());
  const at::AutoDispatchBelowADInplaceOrView below_autograd;
  for (int run = 0; run <= options.runs; ++run) {
    HOCKET_CHECK(executor->run(made.inputs()));
    if (run == 0) continue;
    times.add(executor->last_run());
    measured.runs.push_back(executor->last_run().total);
  }
  HOCKET_TRY(const Communicator everybody, world.communicator());
  AllRanks all(everybody);
  HOCKET_TRY(measured.profile, times.profile(all));
  return measured;
}

}  // namespace hocket
