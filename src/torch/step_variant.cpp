#include "torch/step_variant.h"

#include <ATen/ATen.h>
#include <ATen/CPUGeneratorImpl.h>

#include <algorithm>
#include <map>
#include <tuple>

#include "hocket/ir/tail.h"
#include "hocket/run/all_ranks.h"
#include "hocket/run/measure_collectives.h"
#include "hocket/run/step_times.h"
#include "torch/repeatable_capture.h"
#include "torch/step_compiler.h"

namespace hocket {

namespace {

Result<Capture> capture_step(const StepFunction& step, const std::vector<at::Tensor>& inputs, const World& world,
                             const StepOptions& options) {
  CaptureOptions how;
  how.name = options.name;
  how.parameters = options.parameters;
  how.world_size = world.size();
  how.rank = world.rank();
  const WorldScope scope(world);
  return capture_repeatable(step, inputs, how);
}

// With the same strides: what is expanded is copied once.
at::Tensor copy_of(const at::Tensor& tensor) {
  at::Tensor once = tensor;
  for (std::int64_t dim = 0; dim < tensor.dim(); ++dim) {
    if (tensor.stride(dim) == 0 && tensor.size(dim) > 1) once = once.narrow(dim, 0, 1);
  }
  return at::empty_strided(once.sizes(), once.strides(), once.options()).copy_(once).expand(tensor.sizes());
}

}  // namespace

Result<std::unique_ptr<StepVariant>> StepVariant::create(const StepFunction& step,
                                                         const std::vector<at::Tensor>& inputs, InputTypes types,
                                                         const World& world, const StepOptions& options) {
  HOCKET_TRY(Capture captured, capture_step(step, inputs, world, options));
  CostOptions cost = options.cost;
  if (cost.machine == Machine{}) {
    HOCKET_TRY(cost.machine, find_machine("cpu"));
  }
  const StepCompiler compiler(world, options);
  if (options.measured_runs > 0) HOCKET_CHECK(measure(cost, compiler, {types, captured, inputs, world, options}));
  HOCKET_TRY(Compiled compiled, compiler.compile(captured.graph, cost));
  std::unique_ptr<StepVariant> variant(
      new StepVariant(std::move(types), std::move(captured), std::move(compiled), cost));
  HOCKET_CHECK(variant->prepare(world, {options.timeout, options.record, options.across_steps}));
  return variant;
}

// What the step's kernels and collectives take here, into the cost model. First of the program that the estimates lead to, then of the
// one that this leads to: what runs beside what changes what it takes.
Status StepVariant::measure(CostOptions& cost, const StepCompiler& compiler, const Making& making) {
  HOCKET_TRY(Compiled first, compiler.compile_once(making.captured.graph, cost));
  const Program estimated = *first.program();
  HOCKET_TRY(const auto collectives, measure_collectives(estimated, making.world, {.timeout = making.options.timeout}));
  if (collectives) cost.machine.collectives = *collectives;
  const auto multipliers = std::pair(cost.compute_multiplier, cost.communication_multiplier);
  HOCKET_CHECK(measure_runs(cost, std::move(first), making));
  HOCKET_TRY(Compiled second, compiler.compile(making.captured.graph, cost));
  if (*second.program() == estimated) return {};
  std::tie(cost.compute_multiplier, cost.communication_multiplier) = multipliers;
  return measure_runs(cost, std::move(second), making);
}

// All ranks come to the same. Steps that carry their tails are measured as they will run, one right behind the other. What a step takes
// beyond what the model makes of its kernels and collectives is processor time that these take from each other, as they do where both
// share a core: all of it counts as so much slower.
Status StepVariant::measure_runs(CostOptions& cost, Compiled compiled, const Making& making) {
  StepVariant variant(making.types, making.captured, std::move(compiled), cost);
  HOCKET_CHECK(variant.prepare(making.world, {making.options.timeout, true, making.options.across_steps}));
  StepTimes times(variant.executor().program());
  HOCKET_CHECK(variant.run_for(times, making));
  HOCKET_TRY(const Communicator everybody, making.world.communicator());
  AllRanks all(everybody);
  HOCKET_TRY(cost.profile, times.profile(all, cost.profile));
  HOCKET_TRY(const Nanoseconds took, times.total(all));
  HOCKET_TRY(const Measures model, hocket::measure(variant.compiled.subject, CostModel(cost)));
  const Nanoseconds modelled = variant.executor().carries() ? model.period : model.step_time;
  if (took > modelled && modelled > Nanoseconds()) {
    const double slower = took.seconds() / modelled.seconds();
    cost.compute_multiplier *= slower;
    cost.communication_multiplier *= slower;
  }
  return {};
}

Status StepVariant::run_for(StepTimes& times, const Making& making) {
  std::vector<std::pair<at::Tensor, at::Tensor>> written;
  const std::vector<at::Tensor> all = all_tensors(making.inputs, making.options.parameters);
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (brought_[i].written) written.emplace_back(all[i].detach(), all[i].detach().clone());
  }
  at::Generator random = at::detail::getDefaultCPUGenerator();
  const at::Tensor random_state = random.get_state();
  Status status;
  for (int i = 0; i <= making.options.measured_runs && status; ++i) {  // the first one finds cold memory
    const auto results = run(making.inputs, making.options.parameters);
    if (!results) status = fail(results.error());
    else if (i > 0) times.add(executor_->last_run());
  }
  if (status) status = finish();  // or the tail would write after what was before is back
  for (auto& [tensor, before] : written) tensor.copy_(before);
  random.set_state(random_state);
  return status;
}

Status StepVariant::prepare(const World& world, ExecutorOptions options) {
  find_brought();
  if (tail_needs_arguments()) options.carry = false;
  HOCKET_TRY(executor_, Executor::create(*compiled.program(), kernels_, world, options));
  find_results();
  return {};
}

bool StepVariant::tail_needs_arguments() const {
  const Program& program = *compiled.program();
  std::vector<bool> touched(program.buffers().size());
  for (std::size_t i = tail_of(program).begin; i < program.size(); ++i) {
    visit_accesses(program, StepId(i), [&](BufferId buffer, bool) { touched[buffer.index()] = true; });
  }
  const auto arguments = std::span(brought_).first(types.size());
  return std::ranges::any_of(arguments,
                             [&](const Brought& one) { return one.buffer.valid() && touched[one.buffer.index()]; });
}

// Inputs keep the names of their nodes; one whose memory another one brings is in that one's buffer.
void StepVariant::find_brought() {
  const Program& program = *compiled.program();
  std::vector<bool> written(program.buffers().size(), false);
  for (std::size_t i = 0; i < program.size(); ++i) {
    for (const OperandId operand : program.writes(StepId(i))) written[program.operand(operand).buffer.index()] = true;
  }
  std::map<std::string_view, BufferId> by_name;
  for (std::size_t i = 0; i < program.buffers().size(); ++i) by_name.emplace(program.name(BufferId(i)), BufferId(i));
  const Graph& graph = captured.graph;
  for (const NodeKind kind : {NodeKind::input, NodeKind::attribute}) {
    for (std::size_t i = 0; i < graph.size(); ++i) {
      if (graph.node(NodeId(i)).kind != kind) continue;
      const Output& output = graph.outputs(NodeId(i))[0];
      const auto found = by_name.find(graph.name(graph.storage(output.storage).allocated_by));
      Brought one;
      one.offset = output.offset.value() * size_of(graph.type(output).dtype);
      if (found != by_name.end()) one.buffer = found->second;
      one.written = one.buffer.valid() && written[one.buffer.index()];
      brought_.push_back(one);
    }
  }
}

void StepVariant::find_results() {
  const Program& program = executor_->program();
  for (const OperandId operand : program.results()) {
    const auto from = std::find_if(brought_.begin(), brought_.end(),
                                   [&](const Brought& one) { return one.buffer == program.operand(operand).buffer; });
    ResultPlace place{operand, std::nullopt};
    if (from != brought_.end()) place.brought = static_cast<std::size_t>(from - brought_.begin());
    results_.push_back(place);
  }
}

std::vector<at::Tensor> StepVariant::all_tensors(const std::vector<at::Tensor>& inputs,
                                                 const std::vector<NamedTensor>& parameters) const {
  std::vector<at::Tensor> all = inputs;
  for (const auto& [name, tensor] : parameters) all.push_back(tensor);
  for (const auto& [name, tensor] : captured.attributes) all.push_back(tensor);
  return all;
}

Result<std::vector<at::Tensor>> StepVariant::run(const std::vector<at::Tensor>& inputs,
                                                 const std::vector<NamedTensor>& parameters,
                                                 const std::vector<Arrival>& arrivals) {
  const std::vector<at::Tensor> all = all_tensors(inputs, parameters);
  memory_.clear();
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (!brought_[i].buffer.valid()) continue;
    auto* const data = const_cast<std::byte*>(static_cast<const std::byte*>(all[i].const_data_ptr()));
    memory_.push_back({brought_[i].buffer, data - brought_[i].offset, i < arrivals.size() ? arrivals[i] : nullptr});
  }
  const at::AutoDispatchBelowADInplaceOrView below_autograd;
  HOCKET_CHECK(executor_->run(memory_));
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (brought_[i].written && !all[i].is_inference()) all[i].unsafeGetTensorImpl()->bump_version();
  }
  return results(all);
}

Status StepVariant::finish() {
  if (!executor_) return {};  // it could not be prepared
  const at::AutoDispatchBelowADInplaceOrView below_autograd;
  return executor_->finish();
}

// Tensors in planned memory hold until the next run: the caller gets copies.
std::vector<at::Tensor> StepVariant::results(const std::vector<at::Tensor>& brought) {
  std::vector<at::Tensor> all;
  for (const ResultPlace& place : results_) {
    const at::Tensor tensor = *kernels_.tensor(place.operand);
    if (!place.brought) {
      all.push_back(copy_of(tensor));
      continue;
    }
    const at::Tensor& base = brought[*place.brought];
    const std::int64_t captured_at = brought_[*place.brought].offset / static_cast<std::int64_t>(tensor.itemsize());
    all.push_back(base.detach().as_strided(tensor.sizes(), tensor.strides(),
                                           base.storage_offset() + tensor.storage_offset() - captured_at));
  }
  return all;
}

}  // namespace hocket
