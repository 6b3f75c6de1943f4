// The backward of parameters that are cut over ranks: each rank gets its part of the average.
#include <ATen/ATen.h>
#include <torch/csrc/autograd/engine.h>

#include "torch/dispatch.h"
#include "torch/sharded_parameters.h"

namespace hocket {

// The backward is through with a unit. In a capture the averages go on through autograd; otherwise they are on their way while the
// backward computes, and end_backward() puts them where they belong.
Tensors ShardedParameters::State::take_gradients(const Place& place, const std::vector<std::size_t>& of,
                                                 const Tensors& gradients) {
  const at::AutoGradMode no_grad(false);
  release(unit_at(place));
  Tensors reduced;
  for (std::size_t i = 0; i < of.size(); ++i) reduced.push_back(to_reduce(parameters[of[i]], gradients[i]));
  if (place.captured) {
    const AsyncTensors scattered{reduce_scatter_tensor(reduced[0], ReduceOp::avg, options.group)};
    return {averaged(scattered)[0].to(parameters[of[0]].part.scalar_type())};
  }
  if (pending.empty()) {
    torch::autograd::Engine::get_default_engine().queue_callback([self = shared_from_this()] { self->end_backward(); });
  }
  pending.push_back({of, reduce_scatter_tensor_coalesced(reduced, ReduceOp::avg, options.group)});
  return Tensors(of.size());
}

at::Tensor ShardedParameters::State::to_reduce(const ShardedParameter& parameter, const at::Tensor& gradient) const {
  const at::Tensor padded = parameter.layout.padded(gradient);
  return options.reduce_dtype ? padded.to(*options.reduce_dtype) : padded;
}

Tensors ShardedParameters::State::averaged(const AsyncTensors& scattered) const {
  const Tensors parts = wait_tensors(scattered);
  if (!options.replicas) return parts;
  return wait_tensors(all_reduce_coalesced(parts, ReduceOp::avg, *options.replicas));
}

void ShardedParameters::State::end_backward() {
  const at::AutoGradMode no_grad(false);
  const std::vector<Pending> all = std::exchange(pending, {});
  for (const auto& [of, averages] : all) {
    const Tensors parts = averaged(averages);
    for (std::size_t i = 0; i < of.size(); ++i) {
      const at::Tensor& parameter = parameters[of[i]].part;
      const at::Tensor gradient = parts[i].to(parameter.scalar_type());
      if (parameter.grad().defined()) parameter.mutable_grad().add_(gradient);
      else parameter.mutable_grad() = gradient;
    }
  }
}

}  // namespace hocket
