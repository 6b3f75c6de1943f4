#include "torch/step_variant.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <map>

#include "hocket/run/all_ranks.h"

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
  return capture(step, inputs, how);
}

Result<Compiled> compile_graph(const Graph& graph, const World& world, const StepOptions& options) {
  CompileOptions how;
  how.cost = options.cost;
  if (how.cost.machine == Machine{}) {
    HOCKET_TRY(how.cost.machine, find_machine("cpu"));
  }
  how.passes = options.passes.empty() ? default_step_passes() : options.passes;
  how.memory_limit = options.memory_limit;
  HOCKET_TRY(const Communicator everybody, world.communicator());
  AllRanks all(everybody);
  how.all_ranks = &all;
  HOCKET_TRY(Compiled compiled, compile(graph, how));
  if (compiled.program() == nullptr) {
    return fail(ErrorKind::usage,
                "the passes of step {} end with a graph, expected a planned program: have lower and plan among them",
                options.name);
  }
  return compiled;
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
  HOCKET_TRY(Compiled compiled, compile_graph(captured.graph, world, options));
  std::unique_ptr<StepVariant> variant(new StepVariant(std::move(types), std::move(captured), std::move(compiled)));
  HOCKET_CHECK(variant->prepare(world, options));
  return variant;
}

Status StepVariant::prepare(const World& world, const StepOptions& options) {
  ExecutorOptions how;
  how.record = options.record;
  how.timeout = options.timeout;
  HOCKET_TRY(executor_, Executor::create(*compiled.program(), kernels_, world, how));
  find_brought();
  find_results();
  return {};
}

// Inputs keep the names of their nodes; one whose memory another one brings is in that one's buffer.
void StepVariant::find_brought() {
  const Program& program = executor_->program();
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

Result<std::vector<at::Tensor>> StepVariant::run(const std::vector<at::Tensor>& inputs,
                                                 const std::vector<NamedTensor>& parameters) {
  std::vector<at::Tensor> all = inputs;
  for (const auto& [name, tensor] : parameters) all.push_back(tensor);
  for (const auto& [name, tensor] : captured.attributes) all.push_back(tensor);
  memory_.clear();
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (!brought_[i].buffer.valid()) continue;
    auto* const data = const_cast<std::byte*>(static_cast<const std::byte*>(all[i].const_data_ptr()));
    memory_.push_back({brought_[i].buffer, data - brought_[i].offset});
  }
  const at::AutoDispatchBelowADInplaceOrView below_autograd;
  HOCKET_CHECK(executor_->run(memory_));
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (brought_[i].written && !all[i].is_inference()) all[i].unsafeGetTensorImpl()->bump_version();
  }
  return results(all);
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
