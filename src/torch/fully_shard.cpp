#include "hocket/torch/fully_shard.h"

#include "torch/check.h"
#include "torch/sharded_parameters.h"

namespace hocket {

ShardedParameters::ShardedParameters(torch::nn::Module& module, const ShardOptions& options)
    : state_(std::make_shared<State>(module, options)) {}

ShardedParameters::~ShardedParameters() = default;
ShardedParameters::ShardedParameters(ShardedParameters&&) noexcept = default;
ShardedParameters& ShardedParameters::operator=(ShardedParameters&&) noexcept = default;

struct ShardedParameters::Forward::Scope {
  explicit Scope(std::shared_ptr<State> its_state)
      : state((its_state->begin_forward(), std::move(its_state))), replace(*state), keep(state.get()) {}
  ~Scope() { state->end_forward(); }

  std::shared_ptr<State> state;
  ReplaceArguments replace;
  KeepSavedTensors keep;
};

ShardedParameters::Forward::Forward(const ShardedParameters& parameters)
    : scope_(std::make_unique<Scope>(parameters.state_)) {}
ShardedParameters::Forward::~Forward() = default;

at::Tensor ShardedParameters::whole(const at::Tensor& parameter) const {
  constexpr const char* who = "whole";
  if (!state_->replaces(parameter)) fail_call(who, "the tensor is no parameter of this module");
  if (state_->depth == 0) fail_call(who, "parameters are whole inside forward() and call() only");
  return state_->instead_of(parameter);
}

at::Tensor ShardedParameters::converted(const at::Tensor& input) const {
  const auto& dtype = state_->options.compute_dtype;
  return dtype && input.defined() && input.is_floating_point() ? input.to(*dtype) : input;
}

std::size_t ShardedParameters::units() const { return state_->units.size(); }

}  // namespace hocket
