// Fully sharded training of C++ modules: every rank keeps a part of each parameter, of its gradient and of the optimizer's state. A
// parameter is whole only while it is used.
//
//   FullySharded<Net> net = fully_shard(std::make_shared<Net>(), {.group = mesh["dp"]});
//   torch::optim::Adam optimizer(net.parameters());        // over this rank's parts
//   loss_of(net.forward(x)).backward();                    // leaves this rank's parts of the averaged gradients
//   optimizer.step();
//
// The parameters are gathered in units, the layers of the model's ModuleLists and Sequentials, while the unit before computes; they
// are let go of after use and gathered again for the backward. The averages of a unit's gradients are on their way while the backward
// computes the next. Inside capture() and compile() each parameter has collectives of its own: there the passes decide what is
// communicated together, and when.
//
// Parameters are cut along dim 0 into equal parts, the last ones padded with zeros. During the forward an operator that is given a
// parameter gets the whole one; parameter.sizes() are those of the part at all times, and what is no operator of libtorch (a
// torch::autograd::Function, a kernel on data_ptr()) has to ask for whole(parameter).
#pragma once

#include <torch/nn/module.h>

#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "hocket/comm/group_ref.h"
#include "hocket/torch/capture.h"

namespace hocket {

struct ShardOptions {
  GroupRef group = "world";
  std::optional<GroupRef> replicas = {};  // ranks with the same parts: gradients are averaged over them too
  std::vector<std::shared_ptr<torch::nn::Module>> units = {};  // gathered together; empty: the layers of its lists
  bool reshard_after_forward = true;                           // off: whole until the backward is through with them
  std::optional<at::ScalarType> compute_dtype = {};  // parameters are gathered, and floating inputs converted, to it
  std::optional<at::ScalarType> reduce_dtype = {};   // gradients are averaged in it; absent: as they come
};

// The parameters of a module, cut over the ranks of a group. FullySharded is what users write.
class ShardedParameters {
 public:
  // Collective: the parameters and buffers of the first rank become those of all. Parameters on meta become zeros.
  ShardedParameters(torch::nn::Module& module, const ShardOptions& options);
  ~ShardedParameters();
  ShardedParameters(ShardedParameters&&) noexcept;
  ShardedParameters& operator=(ShardedParameters&&) noexcept;

  // While one lives, the operators of this thread get whole parameters.
  class Forward {
   public:
    explicit Forward(const ShardedParameters& parameters);
    ~Forward();
    Forward(const Forward&) = delete;
    Forward& operator=(const Forward&) = delete;

   private:
    struct Scope;
    std::unique_ptr<Scope> scope_;
  };

  at::Tensor whole(const at::Tensor& parameter) const;  // inside a Forward
  at::Tensor converted(const at::Tensor& input) const;  // to compute_dtype, if it is floating
  at::Tensor clip_grad_norm_(double longest) const;     // the norm of all gradients before; collective
  std::vector<NamedTensor> full_state() const;          // every parameter and buffer, whole, on every rank; collective
  std::vector<NamedTensor> sharded_state() const;       // this rank's parts without padding, and the buffers
  void load_full_state(const std::vector<NamedTensor>& state) const;
  void load_sharded_state(const std::vector<NamedTensor>& state) const;
  std::size_t units() const;

 private:
  struct State;
  std::shared_ptr<State> state_;  // graphs of the autograd that outlive it keep it
};

template <class Module>
class FullySharded {
 public:
  explicit FullySharded(std::shared_ptr<Module> module, ShardOptions options = {})
      : module_(std::move(module)), parameters_(*module_, options) {}

  template <class... Args>
  auto forward(Args&&... args) {
    return call([&](Module& module) { return module.forward(converted(std::forward<Args>(args))...); });
  }
  // Any function of the module: net.call([&](Net& net) { return net.loss(batch); }).
  template <class Function>
  auto call(Function&& function) {
    const ShardedParameters::Forward scope(parameters_);
    return function(*module_);
  }

  Module& module() { return *module_; }
  const std::shared_ptr<Module>& ptr() const { return module_; }
  std::vector<at::Tensor> parameters() const { return module_->parameters(); }  // this rank's parts
  ShardedParameters& sharded() { return parameters_; }
  std::vector<NamedTensor> full_state() const { return parameters_.full_state(); }
  std::vector<NamedTensor> sharded_state() const { return parameters_.sharded_state(); }
  void load_full_state(const std::vector<NamedTensor>& state) { parameters_.load_full_state(state); }
  void load_sharded_state(const std::vector<NamedTensor>& state) { parameters_.load_sharded_state(state); }
  at::Tensor clip_grad_norm_(double longest) { return parameters_.clip_grad_norm_(longest); }

 private:
  template <class T>
  decltype(auto) converted(T&& value) const {
    if constexpr (std::is_convertible_v<T, at::Tensor>) return parameters_.converted(value);
    else return std::forward<T>(value);
  }

  std::shared_ptr<Module> module_;
  ShardedParameters parameters_;
};

template <class Module>
FullySharded<Module> fully_shard(std::shared_ptr<Module> module, ShardOptions options = {}) {
  return FullySharded<Module>(std::move(module), std::move(options));
}
// Of what TORCH_MODULE makes: fully_shard(Net(8, 16)).
template <class Contained>
FullySharded<Contained> fully_shard(const torch::nn::ModuleHolder<Contained>& module, ShardOptions options = {}) {
  return FullySharded<Contained>(module.ptr(), std::move(options));
}

}  // namespace hocket
