#include "torch/record.h"

#include <ATen/ATen.h>
#include <ATen/core/dispatch/Dispatcher.h>

#include <algorithm>

#include "torch/tensor_collective.h"

namespace hocket {

namespace {

using Kind = TensorCollective::Kind;

std::string lower_name(ReduceOp op) { return std::string(name_of(op)); }

// The operator's arguments behind its inputs.
torch::jit::Stack arguments_of(const TensorCollective& collective, const at::Tensor& input) {
  const c10::IValue group(collective.group.name);
  const c10::IValue size(collective.group.size);
  switch (collective.kind) {
    case Kind::all_reduce: return {lower_name(collective.by.op), group};
    case Kind::all_gather: return {size, group};
    case Kind::reduce_scatter: return {lower_name(collective.by.op), size, group};
    case Kind::broadcast: return {std::int64_t{collective.source}, group};
    case Kind::all_to_all: break;
  }
  if (collective.has_splits) return {collective.output_splits, collective.input_splits, group};
  const Splits equal(static_cast<std::size_t>(collective.group.size), input.size(0) / collective.group.size);
  return {equal, equal, group};
}

}  // namespace

Tensors record_call(const char* qualified_name, torch::jit::Stack arguments) {
  c10::Dispatcher::singleton().findSchemaOrThrow(qualified_name, "").callBoxed(arguments);
  const c10::IValue& result = arguments.at(0);
  return result.isTensorList() ? result.toTensorVector() : Tensors{result.toTensor()};
}

Tensors record_waits(const Tensors& results) {
  Tensors waited;
  for (const at::Tensor& result : results) waited.push_back(record_call("_c10d_functional::wait_tensor", {result})[0]);
  return waited;
}

Tensors record(const TensorCollective& collective, const Tensors& inputs, const Tensors& results) {
  if (inputs.empty()) return {};
  TensorCollective recorded = collective;
  Tensors given = inputs;
  // Graphs have no premul_sum with a factor: it is the sum of the products.
  if (collective.reduces() && collective.by.op == ReduceOp::premul_sum) {
    const bool in_place = collective.form == TensorCollective::Form::in_place;
    recorded.by = ReduceOp::sum;
    for (at::Tensor& input : given)
      input = in_place ? input.mul_(collective.by.factor) : input.mul(collective.by.factor);
  }
  for (const at::Tensor& input : given) sizes_of_result(recorded, input);  // an error in our words, not the graph's
  torch::jit::Stack stack;
  if (collective.coalesced) stack.emplace_back(given);
  else stack.emplace_back(given[0]);
  for (c10::IValue& argument : arguments_of(recorded, given[0])) stack.push_back(std::move(argument));
  if (collective.form == TensorCollective::Form::out) stack.emplace_back(results[0]);
  Tensors recorded_results =
      record_waits(record_call((std::string("_c10d_functional::") + collective.name()).c_str(), std::move(stack)));
  if (collective.gather_dim == 0) return recorded_results;
  for (at::Tensor& result : recorded_results) {
    result = at::cat(result.chunk(collective.group.size, 0), collective.gather_dim);
  }
  return recorded_results;
}

}  // namespace hocket
