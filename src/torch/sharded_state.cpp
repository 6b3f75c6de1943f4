// What is saved of parameters that are cut over ranks.
#include <ATen/ATen.h>

#include <map>

#include "torch/check.h"
#include "torch/sharded_parameters.h"

namespace hocket {

namespace {

// A state that is to be loaded: the given tensors by the names that are expected, every one of them with its sizes. All is checked
// before anything is written.
class GivenState {
 public:
  GivenState(const char* who, const std::vector<NamedTensor>& state) : who_(who) {
    for (const auto& [name, tensor] : state) {
      if (!tensors_.emplace(name, tensor).second) fail_call(who, "{} is there twice", name);
    }
  }

  at::Tensor take(const std::string& name, at::IntArrayRef sizes) {
    const auto found = tensors_.find(name);
    if (found == tensors_.end()) fail_call(who_, "{} is missing", name);
    at::Tensor tensor = found->second;
    tensors_.erase(found);
    if (tensor.sizes() != sizes) {
      fail_call(who_, "{} has {}, expected {}", name, fmt::format("[{}]", fmt::join(tensor.sizes(), ",")),
                fmt::format("[{}]", fmt::join(sizes, ",")));
    }
    return tensor;
  }

  void put(const at::Tensor& from, const at::Tensor& into) { writes_.emplace_back(into, from); }
  void put_buffers(const std::vector<NamedTensor>& buffers) {
    for (const auto& [name, buffer] : buffers) put(take(name, buffer.sizes()), buffer);
  }

  void write() const {
    if (!tensors_.empty()) fail_call(who_, "the module has no {}", tensors_.begin()->first);
    for (const auto& [into, from] : writes_) into.copy_(from);
  }

 private:
  const char* who_;
  std::map<std::string, at::Tensor> tensors_;
  std::vector<std::pair<at::Tensor, at::Tensor>> writes_;  // into, from
};

at::Tensor rows_of(const ShardedParameter& parameter, std::int64_t place) {
  return parameter.part.detach().narrow(0, 0, parameter.layout.rows_of(place));
}

}  // namespace

std::vector<NamedTensor> ShardedParameters::full_state() const {
  const at::AutoGradMode no_grad(false);
  std::vector<NamedTensor> state;
  for (const ShardedParameter& parameter : state_->parameters) {
    const at::Tensor parts = all_gather_into_tensor(parameter.part.detach(), state_->options.group);
    state.emplace_back(parameter.name, parameter.layout.whole_of(parts).contiguous());
  }
  for (const auto& [name, buffer] : state_->buffers) state.emplace_back(name, buffer.detach().clone());
  return state;
}

std::vector<NamedTensor> ShardedParameters::sharded_state() const {
  std::vector<NamedTensor> state;
  for (const ShardedParameter& parameter : state_->parameters) {
    state.emplace_back(parameter.name, rows_of(parameter, state_->group->place()).clone());
  }
  for (const auto& [name, buffer] : state_->buffers) state.emplace_back(name, buffer.detach().clone());
  return state;
}

void ShardedParameters::load_full_state(const std::vector<NamedTensor>& state) const {
  const at::AutoGradMode no_grad(false);
  GivenState given("load_full_state", state);
  for (const ShardedParameter& parameter : state_->parameters) {
    const at::Tensor whole = given.take(parameter.name, parameter.layout.whole());
    given.put(parameter.layout.part_of(whole.detach(), state_->group->place()), parameter.part.detach());
  }
  given.put_buffers(state_->buffers);
  given.write();
}

void ShardedParameters::load_sharded_state(const std::vector<NamedTensor>& state) const {
  const at::AutoGradMode no_grad(false);
  GivenState given("load_sharded_state", state);
  for (const ShardedParameter& parameter : state_->parameters) {
    const at::Tensor rows = rows_of(parameter, state_->group->place());
    given.put(given.take(parameter.name, rows.sizes()), rows);
  }
  given.put_buffers(state_->buffers);
  given.write();
}

at::Tensor ShardedParameters::clip_grad_norm_(double longest) const {
  const at::AutoGradMode no_grad(false);
  Tensors gradients, squares;
  for (const ShardedParameter& parameter : state_->parameters) {
    if (!parameter.part.grad().defined()) continue;
    gradients.push_back(parameter.part.grad());
    squares.push_back(gradients.back().to(at::kFloat).square().sum());
  }
  const at::Tensor mine = squares.empty() ? at::zeros({}) : at::stack(squares).sum();
  const at::Tensor norm = at::sqrt(all_reduce(mine, "sum", state_->options.group));
  const at::Tensor scale = at::clamp_max(longest / (norm + 1e-6), 1.0);
  for (const at::Tensor& gradient : gradients) gradient.mul_(scale);
  return norm;
}

}  // namespace hocket
