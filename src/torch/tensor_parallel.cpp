#include "hocket/torch/tensor_parallel.h"

#include <ATen/ATen.h>
#include <torch/csrc/autograd/custom_function.h>
#include <torch/nn/modules/linear.h>

#include "hocket/comm/world.h"
#include "hocket/torch/collectives.h"
#include "hocket/torch/data_parallel.h"
#include "torch/check.h"

namespace hocket {

namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

// The functional collectives differentiate a sum as a sum. Here the sum of the forward is what all ranks go on with in the same way,
// so its gradient is there already; and what all ranks have had before gets a part of its gradient from each.

struct SumOfGradients : torch::autograd::Function<SumOfGradients> {
  static at::Tensor forward(AutogradContext* context, const at::Tensor& input, const GroupHandle& group) {
    context->saved_data["group"] = group->name();
    return input.view_as(input);
  }
  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    return {all_reduce(gradients[0], "sum", GroupRef(context->saved_data["group"].toStringRef())), at::Tensor()};
  }
};

struct SumOfValues : torch::autograd::Function<SumOfValues> {
  static at::Tensor forward(AutogradContext*, const at::Tensor& input, const GroupHandle& group) {
    return all_reduce(input, "sum", GroupRef(group));
  }
  static variable_list backward(AutogradContext*, const variable_list& gradients) {
    return {gradients[0], at::Tensor()};
  }
};

struct PartsOfAll : torch::autograd::Function<PartsOfAll> {
  static at::Tensor forward(AutogradContext* context, const at::Tensor& input, const GroupHandle& group) {
    context->saved_data["begin"] = group->place() * input.size(-1);
    context->saved_data["length"] = input.size(-1);
    return all_gather_tensor(input, -1, GroupRef(group));
  }
  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    return {gradients[0].narrow(-1, context->saved_data["begin"].toInt(), context->saved_data["length"].toInt()),
            at::Tensor()};
  }
};

GroupHandle group_of(const char* who, const GroupRef& ref) {
  return value_or_throw(who, value_or_throw(who, World::current()).group(ref));
}

// This rank's part along a dim, in memory of its own: a view would keep the whole.
at::Tensor part_of(const at::Tensor& whole, std::int64_t dim, const RankGroup& group) {
  return whole.chunk(group.size(), dim)[static_cast<std::size_t>(group.place())].clone(at::MemoryFormat::Contiguous);
}

// A whole layer, the same on all ranks.
torch::nn::Linear whole_linear(std::int64_t in, std::int64_t out, const TensorParallelOptions& options) {
  torch::nn::Linear whole(torch::nn::LinearOptions(in, out).bias(options.bias));
  broadcast_tensors(whole->parameters(), options.group);
  return whole;
}

void check_divides(const char* who, const char* what, std::int64_t size, const RankGroup& group) {
  if (size % group.size() == 0) return;
  fail_call(who, "{} {} can't be cut into {} equal parts, one for each rank of {}", size, what, group.size(),
            group.name());
}

}  // namespace

at::Tensor to_tensor_parallel(const at::Tensor& input, const GroupRef& group) {
  return SumOfGradients::apply(input, group_of("to_tensor_parallel", group));
}
at::Tensor from_tensor_parallel(const at::Tensor& input, const GroupRef& group) {
  return SumOfValues::apply(input, group_of("from_tensor_parallel", group));
}
at::Tensor gather_tensor_parallel(const at::Tensor& input, const GroupRef& group) {
  return PartsOfAll::apply(input, group_of("gather_tensor_parallel", group));
}

ColumnParallelLinearImpl::ColumnParallelLinearImpl(std::int64_t in, std::int64_t out, TensorParallelOptions options)
    : in_(in), out_(out), options_(std::move(options)) {
  reset();
}

void ColumnParallelLinearImpl::reset() {
  constexpr const char* who = "ColumnParallelLinear";
  const GroupHandle group = group_of(who, options_.group);
  check_divides(who, "outputs", out_, *group);
  const at::AutoGradMode no_grad(false);
  const torch::nn::Linear whole = whole_linear(in_, out_, options_);
  weight = register_parameter("weight", part_of(whole->weight, 0, *group));
  bias = register_parameter("bias", options_.bias ? part_of(whole->bias, 0, *group) : at::Tensor(), options_.bias);
}

at::Tensor ColumnParallelLinearImpl::forward(const at::Tensor& input) {
  return at::linear(to_tensor_parallel(input, options_.group), weight, bias);
}

RowParallelLinearImpl::RowParallelLinearImpl(std::int64_t in, std::int64_t out, TensorParallelOptions options)
    : in_(in), out_(out), options_(std::move(options)) {
  reset();
}

void RowParallelLinearImpl::reset() {
  constexpr const char* who = "RowParallelLinear";
  const GroupHandle group = group_of(who, options_.group);
  check_divides(who, "inputs", in_, *group);
  const at::AutoGradMode no_grad(false);
  const torch::nn::Linear whole = whole_linear(in_, out_, options_);
  weight = register_parameter("weight", part_of(whole->weight, 1, *group));
  bias = register_parameter("bias", options_.bias ? whole->bias.detach().clone() : at::Tensor(), options_.bias);
}

at::Tensor RowParallelLinearImpl::forward(const at::Tensor& input) {
  const at::Tensor sum = from_tensor_parallel(at::linear(input, weight), options_.group);
  return bias.defined() ? sum + bias : sum;
}

}  // namespace hocket
