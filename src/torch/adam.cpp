#include "hocket/torch/adam.h"

#include <ATen/ATen.h>
#include <fmt/format.h>

#include "torch/check.h"

namespace hocket {

namespace {

constexpr const char* who = "Adam";

void check_options(const AdamOptions& options) {
  if (!(options.learning_rate >= 0)) fail_call(who, "learning_rate is {}, expected 0 or more", options.learning_rate);
  if (!(options.epsilon >= 0)) fail_call(who, "epsilon is {}, expected 0 or more", options.epsilon);
  if (!(options.weight_decay >= 0)) fail_call(who, "weight_decay is {}, expected 0 or more", options.weight_decay);
  for (const auto& [name, beta] : {std::pair("beta1", options.beta1), std::pair("beta2", options.beta2)}) {
    if (!(beta >= 0 && beta < 1)) fail_call(who, "{} is {}, expected 0 or more, and less than 1", name, beta);
  }
}

}  // namespace

Adam::Adam(std::vector<at::Tensor> parameters, const AdamOptions& options)
    : options_(options),
      step_(at::zeros({}, at::kDouble)),
      learning_rate_(at::full({}, options.learning_rate, at::kDouble)) {
  check_options(options);
  const at::AutoGradMode no_grad(false);
  for (at::Tensor& parameter : parameters) {
    moments_.push_back({std::move(parameter), {}, {}});
    moments_.back().mean = at::zeros_like(moments_.back().parameter);
    moments_.back().square = at::zeros_like(moments_.back().parameter);
  }
}

void Adam::zero_grad() {
  for (Moments& one : moments_) one.parameter.mutable_grad().reset();
}

// The operators of torch::optim::Adam in their order; numbers that change from step to step are tensors without dims, which take part
// in arithmetic as numbers do.
void Adam::step() {
  const at::AutoGradMode no_grad(false);
  step_.add_(1);
  const at::Tensor correction1 = 1 - at::pow(options_.beta1, step_);
  const at::Tensor correction2 = (1 - at::pow(options_.beta2, step_)).sqrt();
  const at::Tensor factor = -(learning_rate_ / correction1);
  const at::Tensor shrinking = 1 - learning_rate_ * options_.weight_decay;
  for (Moments& one : moments_) {
    at::Tensor gradient = one.parameter.grad();
    if (!gradient.defined()) continue;
    if (options_.weight_decay != 0 && options_.decoupled) one.parameter.mul_(shrinking);
    if (options_.weight_decay != 0 && !options_.decoupled) {
      gradient = gradient.add(one.parameter, options_.weight_decay);
    }
    one.mean.mul_(options_.beta1).add_(gradient, 1 - options_.beta1);
    one.square.mul_(options_.beta2).addcmul_(gradient, gradient, 1 - options_.beta2);
    const at::Tensor spread = (one.square.sqrt() / correction2).add_(options_.epsilon);
    one.parameter.add_(one.mean * factor / spread);
  }
}

std::vector<std::pair<std::string, at::Tensor>> Adam::state() const {
  std::vector<std::pair<std::string, at::Tensor>> all = {{"step", step_}, {"learning_rate", learning_rate_}};
  for (std::size_t i = 0; i < moments_.size(); ++i) {
    all.emplace_back(fmt::format("mean.{}", i), moments_[i].mean);
    all.emplace_back(fmt::format("square.{}", i), moments_[i].square);
  }
  return all;
}

}  // namespace hocket
