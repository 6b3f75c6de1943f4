// The backward of each collective is a collective too.
#include <ATen/ATen.h>

#include "torch/check.h"
#include "torch/differentiable.h"
#include "torch/tensor_collective.h"

namespace hocket {

namespace {

using Kind = TensorCollective::Kind;

void check_sum(const TensorCollective& forward) {
  if (forward.by.op == ReduceOp::sum) return;
  fail_call(forward.name(), "{} has no backward, only sum has: give it input.detach(), or sum and compute the rest",
            name_of(forward.by.op));
}

TensorCollective backward_of(const TensorCollective& forward) {
  TensorCollective backward = forward;
  switch (forward.kind) {
    case Kind::all_reduce: check_sum(forward); break;
    case Kind::all_gather:
      backward.kind = Kind::reduce_scatter;
      backward.by = ReduceOp::sum;
      backward.gather_dim = 0;
      break;
    case Kind::reduce_scatter:
      check_sum(forward);
      backward.kind = Kind::all_gather;
      break;
    case Kind::all_to_all: std::swap(backward.output_splits, backward.input_splits); break;
    case Kind::broadcast:
      fail_call(forward.name(),
                "has no backward: give it input.detach(), or sum a tensor that is zero on all other ranks");
  }
  return backward;
}

Tensors gradients_of_inputs(const TensorCollective& forward, const std::vector<std::vector<std::int64_t>>& sizes,
                            const Tensors& gradients) {
  Tensors sent = gradients;
  if (forward.gather_dim != 0) {
    for (at::Tensor& gradient : sent) gradient = at::cat(gradient.chunk(forward.group.size, forward.gather_dim), 0);
  }
  Tensors received = wait_tensors(run(backward_of(forward), sent).all());
  for (std::size_t i = 0; i < received.size(); ++i) received[i] = received[i].reshape(sizes[i]);  // [1] of a 0-d input
  return received;
}

}  // namespace

Started run(const TensorCollective& collective, const Tensors& inputs) {
  Started started = start(collective, inputs);
  if (collective.form != TensorCollective::Form::fresh || !need_gradient(inputs)) return started;
  std::vector<std::vector<std::int64_t>> sizes;
  for (const at::Tensor& input : inputs) sizes.push_back(input.sizes().vec());
  set_backward(inputs, started.results, collective.name(), [collective, sizes](const Tensors& gradients) {
    return gradients_of_inputs(collective, sizes, gradients);
  });
  return started;
}

}  // namespace hocket
