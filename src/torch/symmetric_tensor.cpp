#include "hocket/torch/symmetric_tensor.h"

#include <ATen/ATen.h>

#include <memory>

#include "hocket/comm/symmetric_buffer.h"
#include "torch/check.h"
#include "torch/differentiable.h"
#include "torch/dispatch.h"
#include "torch/record.h"
#include "torch/symmetric_memory.h"
#include "torch/tensor_collective.h"

namespace hocket {

namespace {

using Form = TensorCollective::Form;

void release(void* buffer) { delete static_cast<SymmetricBuffer*>(buffer); }

at::Tensor tensor_on(SymmetricBuffer buffer, at::IntArrayRef sizes, const at::TensorOptions& options) {
  void* const data = buffer.data();
  const auto bytes = static_cast<std::size_t>(buffer.bytes().count);
  auto* const owner = new SymmetricBuffer(std::move(buffer));
  c10::Storage storage(c10::Storage::use_byte_size_t(), bytes, c10::DataPtr(data, owner, &release, at::kCPU));
  return at::empty({0}, options).set_(std::move(storage), 0, sizes);
}

// Named as the operators of the namespace symm_mem.
TensorCollective named(const char* op, Form form, CollectiveAlgorithm algorithm, const ReduceBy& by) {
  TensorCollective collective{.kind = TensorCollective::Kind::all_reduce, .form = form, .by = by};
  collective.called = op;
  collective.algorithm = algorithm;
  collective.blocking = true;
  return collective;
}

void no_backward(const char* op, const Tensors& tensors) {
  if (need_gradient(tensors)) fail_call(op, "has no backward: use all_reduce, or call it under torch::NoGradGuard");
}

at::Tensor call(TensorCollective collective, const at::Tensor& input, const Tensors& out, const GroupArg& group,
                const Tensors& before = {}) {
  const char* op = collective.called;
  Tensors tensors{input};
  tensors.insert(tensors.end(), out.begin(), out.end());
  no_backward(op, tensors);
  collective.group = resolve_group(op, group, check_tensors(op, tensors));
  if (current_recorder() == nullptr) return start(collective, {input}, out).one();
  const at::NoGradGuard no_gradients;
  torch::jit::Stack stack(before.begin(), before.end());
  stack.insert(stack.end(), {input, std::string(name_of(collective.by.op)), collective.group.name});
  stack.insert(stack.end(), out.begin(), out.end());
  return record_call((std::string("symm_mem::") + op).c_str(), std::move(stack))[0];
}

at::Tensor copy_in(const char* op, const at::Tensor& buffer, const at::Tensor& input) {
  check_tensors(op, {buffer, input});
  no_backward(op, {buffer, input});
  if (!buffer.is_contiguous() || buffer.numel() < input.numel() || buffer.scalar_type() != input.scalar_type()) {
    fail_call(op, "the buffer must be contiguous and have room for {} elements of {}, got {} of {}", input.numel(),
              c10::toString(input.scalar_type()), buffer.numel(), c10::toString(buffer.scalar_type()));
  }
  return buffer.view({-1}).narrow(0, 0, input.numel()).view(input.sizes()).copy_(input);
}

CollectiveAlgorithm two_shot_on(const at::Tensor& input, const at::Tensor& output) {
  return is_symmetric(input) && is_symmetric(output) ? CollectiveAlgorithm::symmetric : CollectiveAlgorithm::two_shot;
}

}  // namespace

at::Tensor symmetric_empty(at::IntArrayRef sizes, const at::TensorOptions& options, const GroupArg& group) {
  const char* op = "symmetric_empty";
  if (current_recorder() != nullptr || options.device().is_meta()) return at::empty(sizes, options);
  const ResolvedGroup resolved = resolve_group(op, group, true);
  CallOptions where;
  where.site = group.site();
  return symmetric_empty_of(*resolved.communicator, sizes, options, where);
}

at::Tensor symmetric_empty_of(const Communicator& communicator, at::IntArrayRef sizes, const at::TensorOptions& options,
                              const CallOptions& call) {
  const char* op = "symmetric_empty";
  if (!options.device().is_cpu()) fail_call(op, "on {}: symmetric tensors are on the CPU", options.device().str());
  const auto bytes = c10::multiply_integers(sizes) * static_cast<std::int64_t>(options.dtype().itemsize());
  return tensor_on(value_or_throw(op, communicator.allocate(Bytes(bytes), call)), sizes, options);
}

bool is_symmetric(const at::Tensor& tensor) {
  return tensor.defined() && tensor.has_storage() && tensor.storage().data_ptr().get_deleter() == &release;
}

at::Tensor one_shot_all_reduce(const at::Tensor& input, const ReduceBy& by, const GroupArg& group) {
  return call(named("one_shot_all_reduce", Form::fresh, CollectiveAlgorithm::one_shot, by), input, {}, group);
}

at::Tensor one_shot_all_reduce_out(const at::Tensor& input, const ReduceBy& by, const at::Tensor& out,
                                   const GroupArg& group) {
  return call(named("one_shot_all_reduce_out", Form::out, CollectiveAlgorithm::one_shot, by), input, {out}, group);
}

at::Tensor two_shot_all_reduce_(const at::Tensor& tensor, const ReduceBy& by, const GroupArg& group) {
  return call(named("two_shot_all_reduce_", Form::in_place, two_shot_on(tensor, tensor), by), tensor, {}, group);
}

at::Tensor two_shot_all_reduce_out(const at::Tensor& input, const ReduceBy& by, const at::Tensor& out,
                                   const GroupArg& group) {
  return call(named("two_shot_all_reduce_out", Form::out, two_shot_on(input, out), by), input, {out}, group);
}

at::Tensor one_shot_all_reduce_copy(const at::Tensor& buffer, const at::Tensor& input, const ReduceBy& by,
                                    const GroupArg& group) {
  const TensorCollective collective = named("one_shot_all_reduce_copy", Form::fresh, CollectiveAlgorithm::one_shot, by);
  if (current_recorder() != nullptr) return call(collective, input, {}, group, {buffer});
  return call(collective, copy_in(collective.called, buffer, input), {}, group);
}

at::Tensor one_shot_all_reduce_copy_out(const at::Tensor& buffer, const at::Tensor& input, const ReduceBy& by,
                                        const at::Tensor& out, const GroupArg& group) {
  const TensorCollective collective =
      named("one_shot_all_reduce_copy_out", Form::out, CollectiveAlgorithm::one_shot, by);
  if (current_recorder() != nullptr) return call(collective, input, {out}, group, {buffer});
  return call(collective, copy_in(collective.called, buffer, input), {out}, group);
}

}  // namespace hocket
