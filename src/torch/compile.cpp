#include "hocket/torch/compile.h"

#include <algorithm>

#include "hocket/base/log.h"
#include "hocket/report/report.h"
#include "hocket/torch/async_tensor.h"
#include "torch/step_variant.h"

namespace hocket {

struct CompiledStep::State {
  State(StepFunction its_step, StepOptions its_options, World its_world)
      : step(std::move(its_step)), options(std::move(its_options)), world(std::move(its_world)) {}

  Status finish_unless(const InputTypes& types);
  // The one for inputs of this kind becomes the last; nullptr if there is none.
  StepVariant* find(const InputTypes& types);
  Result<StepVariant*> make(const std::vector<at::Tensor>& inputs, InputTypes types);
  Result<StepVariant*> find_or_make(const std::vector<at::Tensor>& inputs);

  StepFunction step;
  StepOptions options;
  World world;
  std::vector<std::unique_ptr<StepVariant>> variants;  // the one that ran last is the last
  std::string why;
};

// What ran last may have parameters to change that the other one is about to use.
Status CompiledStep::State::finish_unless(const InputTypes& types) {
  return variants.empty() || variants.back()->types == types ? Status() : variants.back()->finish();
}

StepVariant* CompiledStep::State::find(const InputTypes& types) {
  for (auto one = variants.rbegin(); one != variants.rend(); ++one) {
    if ((*one)->types != types) continue;
    std::rotate(one.base() - 1, one.base(), variants.end());
    return variants.back().get();
  }
  return nullptr;
}

Result<StepVariant*> CompiledStep::State::make(const std::vector<at::Tensor>& inputs, InputTypes types) {
  why = variants.empty() ? "it was never compiled before" : *types.difference_to(variants.back()->types);
  log().info("compiling step {}: {}", options.name, why);
  HOCKET_TRY(std::unique_ptr<StepVariant> made, StepVariant::create(step, inputs, std::move(types), world, options));
  variants.push_back(std::move(made));
  return variants.back().get();
}

Result<StepVariant*> CompiledStep::State::find_or_make(const std::vector<at::Tensor>& inputs) {
  HOCKET_TRY(InputTypes types, InputTypes::of(inputs));
  HOCKET_CHECK(finish_unless(types));
  StepVariant* const found = find(types);
  return found != nullptr ? found : make(inputs, std::move(types));
}

std::vector<PassCall> default_step_passes() {
  return {{"remove_dead_getitems", {}},
          {"fold_averages", {}},
          {"forward_copies", {}},
          {"bucket_all_gather", {}},
          {"bucket_reduce_scatter", {}},
          {"fuse_ddp_with_coalesced", {}},
          {"lower", {}},
          {"reorder_communication_preserving_peak_memory", {}},
          {"sink_waits_iterative", {}},
          // And from there to their first uses, where memory allows it: estimates are not the truth.
          {"sink_waits_iterative", {{"estimates", "off"}, {"group", "off"}}},
          {"plan", {}}};
}

CompiledStep::CompiledStep(std::unique_ptr<State> state) : state_(std::move(state)) {}
CompiledStep::CompiledStep(CompiledStep&&) noexcept = default;
CompiledStep& CompiledStep::operator=(CompiledStep&&) noexcept = default;
CompiledStep::~CompiledStep() = default;

Result<std::vector<at::Tensor>> CompiledStep::run(const std::vector<at::Tensor>& inputs) {
  HOCKET_TRY(StepVariant * variant, state_->find_or_make(inputs));
  return variant->run(inputs, state_->options.parameters);
}

Result<std::vector<at::Tensor>> CompiledStep::run_in_flight(const std::vector<AsyncTensor>& inputs) {
  std::vector<at::Tensor> tensors;
  std::vector<Arrival> arrivals;
  for (const AsyncTensor& input : inputs) {
    tensors.push_back(input.unwaited());
    arrivals.push_back([&input]() -> Status {
      try {
        input.wait();
      } catch (const CollectiveError& error) {
        return fail(error.error());
      }
      return {};
    });
    if (!AllowInflightInputs::allowed()) HOCKET_CHECK(arrivals.back()());
  }
  HOCKET_TRY(InputTypes types, InputTypes::of(tensors));
  HOCKET_CHECK(state_->finish_unless(types));
  StepVariant* variant = state_->find(types);
  if (variant == nullptr) {  // compiling may run the step, and needs all of them
    for (const Arrival& arrival : arrivals) HOCKET_CHECK(arrival());
    HOCKET_TRY(variant, state_->make(tensors, std::move(types)));
  }
  return variant->run(tensors, state_->options.parameters, arrivals);
}

Status CompiledStep::finish() { return state_->variants.back()->finish(); }

std::vector<at::Tensor> CompiledStep::operator()(const std::vector<at::Tensor>& inputs) {
  Result<std::vector<at::Tensor>> results = run(inputs);
  if (!results) throw CollectiveError(results.error());
  return std::move(*results);
}

const Graph& CompiledStep::graph() const { return state_->variants.back()->captured.graph; }
const Compiled& CompiledStep::compiled() const { return state_->variants.back()->compiled; }
Nanoseconds CompiledStep::predicted() const {
  const Measures& measures = compiled().after;
  return state_->options.across_steps ? measures.period : measures.step_time;
}
const Executor& CompiledStep::executor() const { return state_->variants.back()->executor(); }
Status CompiledStep::report(const std::string& path) const {
  const StepVariant& variant = *state_->variants.back();
  const CostModel cost(variant.cost);
  const Graph& graph = variant.captured.graph;
  const MemoryLimit& limit = state_->options.memory_limit;
  const RunRecord& run = variant.executor().last_run();
  HOCKET_TRY(const ReportData data, run.steps.empty() ? report_of(graph, variant.compiled, cost, limit)
                                                      : report_of_run(graph, variant.compiled, run, cost, limit));
  return write_report(path, data);
}
std::size_t CompiledStep::compilations() const { return state_->variants.size(); }
const std::string& CompiledStep::why_compiled() const { return state_->why; }

Result<CompiledStep> compile(StepFunction step, const std::vector<at::Tensor>& example_inputs, StepOptions options) {
  std::optional<World> world = options.world;
  if (!world) {
    HOCKET_TRY(world, World::current());
  }
  auto state = std::make_unique<CompiledStep::State>(std::move(step), std::move(options), *world);
  HOCKET_CHECK(state->find_or_make(example_inputs).map([](StepVariant*) {}));
  return CompiledStep(std::move(state));
}

}  // namespace hocket
