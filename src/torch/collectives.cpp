#include "hocket/torch/collectives.h"

#include <ATen/ATen.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "torch/check.h"
#include "torch/dispatch.h"
#include "torch/in_flight.h"
#include "torch/record.h"
#include "torch/tensor_collective.h"

namespace hocket {

namespace {

using Kind = TensorCollective::Kind;
using Form = TensorCollective::Form;

// With its group, for these tensors.
TensorCollective resolved(TensorCollective collective, const GroupArg& group, const Tensors& tensors) {
  const char* op = collective.name();
  collective.group = resolve_group(op, group, check_tensors(op, tensors));
  return collective;
}

AsyncTensor run_one(TensorCollective collective, const at::Tensor& input, const GroupArg& group) {
  const Tensors inputs{input};
  return run(resolved(std::move(collective), group, inputs), inputs).one();
}

AsyncTensors run_many(TensorCollective collective, const Tensors& inputs, const GroupArg& group) {
  collective.coalesced = true;
  return run(resolved(std::move(collective), group, inputs), inputs).all();
}

AsyncTensor run_to(TensorCollective collective, const at::Tensor& input, const at::Tensor& out, const GroupArg& group) {
  collective.form = Form::out;
  return start(resolved(std::move(collective), group, {input, out}), {input}, {out}).one();
}

std::int64_t wrapped(const char* op, std::int64_t dim, const at::Tensor& tensor) {
  const std::int64_t dims = std::max<std::int64_t>(tensor.dim(), 1);
  if (dim < -dims || dim >= dims) fail_call(op, "dim {}, expected {} to {}", dim, -dims, dims - 1);
  return dim < 0 ? dim + dims : dim;
}

// The parts of a dim one behind the other along dim 0, as a reduce_scatter takes them.
at::Tensor parts_in_a_row(const char* op, const at::Tensor& input, std::int64_t dim, std::int64_t parts) {
  dim = wrapped(op, dim, input);
  if (dim == 0) return input;
  if (input.size(dim) % parts != 0) {
    fail_call(op, "dim {} of size {} does not divide by the group's size {}", dim, input.size(dim), parts);
  }
  return at::cat(input.chunk(parts, dim), 0);
}

}  // namespace

AsyncTensor all_reduce(const at::Tensor& input, const ReduceBy& by, const GroupArg& group) {
  return run_one({.kind = Kind::all_reduce, .by = by}, input, group);
}

AsyncTensor all_gather_into_tensor(const at::Tensor& input, const GroupArg& group) {
  return run_one({.kind = Kind::all_gather}, input, group);
}

AsyncTensor all_gather_tensor(const at::Tensor& input, std::int64_t gather_dim, const GroupArg& group) {
  check_tensors("all_gather_tensor", {input});
  return run_one({.kind = Kind::all_gather, .gather_dim = wrapped("all_gather_tensor", gather_dim, input)}, input,
                 group);
}

AsyncTensor reduce_scatter_tensor(const at::Tensor& input, const ReduceBy& by, const GroupArg& group) {
  return run_one({.kind = Kind::reduce_scatter, .by = by}, input, group);
}

AsyncTensor reduce_scatter_tensor(const at::Tensor& input, const ReduceBy& by, std::int64_t scatter_dim,
                                  const GroupArg& group) {
  const TensorCollective collective = resolved({.kind = Kind::reduce_scatter, .by = by}, group, {input});
  return run(collective, {parts_in_a_row(collective.name(), input, scatter_dim, collective.group.size)}).one();
}

AsyncTensor all_to_all_single(const at::Tensor& input, const GroupArg& group) {
  return run_one({.kind = Kind::all_to_all}, input, group);
}

AsyncTensor all_to_all_single(const at::Tensor& input, const Splits& output_splits, const Splits& input_splits,
                              const GroupArg& group) {
  TensorCollective collective{.kind = Kind::all_to_all};
  collective.has_splits = !output_splits.empty() || !input_splits.empty();
  collective.output_splits = output_splits;
  collective.input_splits = input_splits;
  return run_one(std::move(collective), input, group);
}

AsyncTensor broadcast(const at::Tensor& input, std::int32_t source, const GroupArg& group) {
  return run_one({.kind = Kind::broadcast, .source = source}, input, group);
}

AsyncTensors all_reduce_coalesced(const Tensors& inputs, const ReduceBy& by, const GroupArg& group) {
  return run_many({.kind = Kind::all_reduce, .by = by}, inputs, group);
}

AsyncTensors all_gather_into_tensor_coalesced(const Tensors& inputs, const GroupArg& group) {
  return run_many({.kind = Kind::all_gather}, inputs, group);
}

AsyncTensors reduce_scatter_tensor_coalesced(const Tensors& inputs, const ReduceBy& by, const GroupArg& group) {
  return run_many({.kind = Kind::reduce_scatter, .by = by}, inputs, group);
}

AsyncTensors reduce_scatter_tensor_coalesced(const Tensors& inputs, const ReduceBy& by,
                                             const std::vector<std::int64_t>& scatter_dims, const GroupArg& group) {
  const TensorCollective collective =
      resolved({.kind = Kind::reduce_scatter, .coalesced = true, .by = by}, group, inputs);
  if (scatter_dims.size() != inputs.size()) {
    fail_call(collective.name(), "{} dims for {} tensors", scatter_dims.size(), inputs.size());
  }
  Tensors in_a_row;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    in_a_row.push_back(parts_in_a_row(collective.name(), inputs[i], scatter_dims[i], collective.group.size));
  }
  return run(collective, in_a_row).all();
}

AsyncTensor all_reduce_(const at::Tensor& tensor, const ReduceBy& by, const GroupArg& group) {
  return run_one({.kind = Kind::all_reduce, .form = Form::in_place, .by = by}, tensor, group);
}

AsyncTensors all_reduce_coalesced_(const Tensors& tensors, const ReduceBy& by, const GroupArg& group) {
  return run_many({.kind = Kind::all_reduce, .form = Form::in_place, .by = by}, tensors, group);
}

AsyncTensor broadcast_(const at::Tensor& tensor, std::int32_t source, const GroupArg& group) {
  return run_one({.kind = Kind::broadcast, .form = Form::in_place, .source = source}, tensor, group);
}

AsyncTensor all_gather_into_tensor_out(const at::Tensor& input, const at::Tensor& out, const GroupArg& group) {
  return run_to({.kind = Kind::all_gather}, input, out, group);
}

AsyncTensor reduce_scatter_tensor_out(const at::Tensor& input, const ReduceBy& by, const at::Tensor& out,
                                      const GroupArg& group) {
  return run_to({.kind = Kind::reduce_scatter, .by = by}, input, out, group);
}

at::Tensor wait_tensor(const at::Tensor& tensor) {
  if (current_recorder() != nullptr) return record_waits({tensor})[0];
  wait_for_memory_of(tensor);
  return tensor;
}

Tensors wait_tensors(const AsyncTensors& tensors) {
  Tensors waited;
  for (const AsyncTensor& tensor : tensors) waited.push_back(tensor.wait());
  return waited;
}

}  // namespace hocket
