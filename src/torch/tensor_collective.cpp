#include "torch/tensor_collective.h"

#include <ATen/ATen.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "torch/arguments.h"
#include "torch/check.h"
#include "torch/dispatch.h"
#include "torch/in_flight.h"

namespace hocket {

namespace {

using Kind = TensorCollective::Kind;
using Form = TensorCollective::Form;

constexpr std::size_t kinds = 5;
constexpr const char* names[][kinds] = {
    {"all_reduce", "all_gather_into_tensor", "reduce_scatter_tensor", "all_to_all_single", "broadcast"},
    {"all_reduce_", nullptr, nullptr, nullptr, "broadcast_"},
    {nullptr, "all_gather_into_tensor_out", "reduce_scatter_tensor_out", nullptr, nullptr},
};
constexpr const char* coalesced_names[][kinds] = {
    {"all_reduce_coalesced", "all_gather_into_tensor_coalesced", "reduce_scatter_tensor_coalesced", nullptr, nullptr},
    {"all_reduce_coalesced_", nullptr, nullptr, nullptr, nullptr},
};

std::int64_t divided(const TensorCollective& collective, const at::Tensor& input, const char* what_to_do) {
  const std::int64_t members = collective.group.size;
  if (input.dim() == 0) {
    fail_call(collective.name(), "a tensor without dims can't be split among the {} ranks of {}", members,
              collective.group.name);
  }
  if (input.size(0) % members != 0) {
    fail_call(collective.name(), "dim 0 of size {} does not divide by the group's size {}{}", input.size(0), members,
              what_to_do);
  }
  return input.size(0) / members;
}

std::int64_t sum_of(const Splits& splits) {
  std::int64_t sum = 0;
  for (const std::int64_t rows : splits) sum += rows;
  return sum;
}

void check_splits(const TensorCollective& collective, const at::Tensor& input) {
  const char* op = collective.name();
  if (input.dim() == 0) fail_call(op, "a tensor without dims can't be split");
  for (const Splits* splits : {&collective.output_splits, &collective.input_splits}) {
    const char* which = splits == &collective.output_splits ? "output" : "input";
    if (static_cast<std::int64_t>(splits->size()) != collective.group.size) {
      fail_call(op, "{} {} splits, expected one for each of the {} ranks of {}; give both lists or neither",
                splits->size(), which, collective.group.size, collective.group.name);
    }
    if (std::any_of(splits->begin(), splits->end(), [](std::int64_t rows) { return rows < 0; })) {
      fail_call(op, "{} splits [{}] have a negative number", which, fmt::join(*splits, ", "));
    }
  }
  if (sum_of(collective.input_splits) != input.size(0)) {
    fail_call(op, "input splits add up to {}, but dim 0 has size {}", sum_of(collective.input_splits), input.size(0));
  }
}

std::string described(const at::Tensor& tensor) {
  return fmt::format("{}[{}]", c10::toString(tensor.scalar_type()), fmt::join(tensor.sizes(), ","));
}

void check_given_result(const TensorCollective& collective, const at::Tensor& input, const at::Tensor& result) {
  const char* op = collective.name();
  const std::vector<std::int64_t> sizes = sizes_of_result(collective, input);
  if (result.sizes() != sizes || result.scalar_type() != input.scalar_type() || result.device() != input.device()) {
    fail_call(op, "out is {} on {}, but the result is {}[{}] on {}", described(result), result.device().str(),
              c10::toString(input.scalar_type()), fmt::join(sizes, ","), input.device().str());
  }
  if (!result.is_contiguous()) {
    fail_call(op,
              "writes into memory that must be contiguous, got strides [{}]; use the form that returns a new tensor "
              "and copy it",
              fmt::join(result.strides(), ","));
  }
  if (at::GradMode::is_enabled() && (result.requires_grad() || input.requires_grad())) {
    fail_call(op, "has no backward: use the form that returns a new tensor, or call it under torch::NoGradGuard");
  }
}

at::Tensor plain(const at::Tensor& input) { return input.contiguous().resolve_conj().resolve_neg(); }

void note_written(const TensorCollective& collective, const Started& started) {
  if (collective.form == Form::fresh) return;
  for (const at::Tensor& result : started.results) {
    if (!result.is_inference()) result.unsafeGetTensorImpl()->bump_version();
    if (started.communication) note_in_flight(result, started.communication);
  }
}

// A gather along another dim than 0: the ranks' parts, which lie one behind the other, go side by side when all have come.
void gather_along(const TensorCollective& collective, Started& started) {
  at::Tensor gathered = std::move(started.results.at(0));
  std::vector<std::int64_t> sizes = gathered.sizes().vec();
  sizes[0] /= collective.group.size;
  sizes[static_cast<std::size_t>(collective.gather_dim)] *= collective.group.size;
  at::Tensor result = at::empty(sizes, gathered.options());
  started.results = {result};
  if (!started.communication) return;
  started.communication->then([gathered, result, parts = collective.group.size, dim = collective.gather_dim]() mutable {
    at::cat_out(result, gathered.chunk(parts, 0), dim);
  });
}

}  // namespace

const char* TensorCollective::name() const {
  if (called != nullptr) return called;
  const auto& row = coalesced ? coalesced_names[static_cast<std::size_t>(form)] : names[static_cast<std::size_t>(form)];
  return row[static_cast<std::size_t>(kind)];
}

AsyncTensors Started::all() const {
  AsyncTensors tensors;
  for (const at::Tensor& result : results) tensors.emplace_back(result, communication);
  return tensors;
}

std::vector<std::int64_t> sizes_of_result(const TensorCollective& collective, const at::Tensor& input) {
  std::vector<std::int64_t> sizes = input.sizes().vec();
  switch (collective.kind) {
    case Kind::all_reduce:
    case Kind::broadcast: break;
    case Kind::all_gather:
      if (sizes.empty()) sizes.push_back(1);
      sizes[0] *= collective.group.size;
      break;
    case Kind::reduce_scatter: sizes[0] = divided(collective, input, ""); break;
    case Kind::all_to_all:
      if (collective.has_splits) {
        check_splits(collective, input);
        sizes[0] = sum_of(collective.output_splits);
      } else {
        divided(collective, input, "; give the splits");
      }
      break;
  }
  return sizes;
}

Started start(const TensorCollective& collective, const Tensors& inputs, Tensors results) {
  if (collective.reduces()) {
    for (const at::Tensor& input : inputs) {
      value_or_throw(collective.name(), check_reducible(*dtype_of(input.scalar_type()), collective.by.op));
    }
  }
  if (collective.kind == Kind::broadcast && (collective.source < 0 || collective.source >= collective.group.size)) {
    fail_call(collective.name(), "from place {}, expected 0 to {} in {}", collective.source, collective.group.size - 1,
              collective.group.name);
  }
  if (collective.form == Form::in_place) results = inputs;
  for (std::size_t i = 0; i < results.size(); ++i) check_given_result(collective, inputs[i], results[i]);

  const at::NoGradGuard no_gradients;
  if (current_recorder() != nullptr) return {record(collective, inputs, results), nullptr};
  Started started{std::move(results), nullptr};
  if (started.results.empty()) {
    for (const at::Tensor& input : inputs) {
      started.results.push_back(
          at::empty(sizes_of_result(collective, input), input.options().memory_format(at::MemoryFormat::Contiguous)));
    }
  }
  if (collective.group.communicator && !inputs.empty()) {
    Tensors contiguous;
    for (const at::Tensor& input : inputs) contiguous.push_back(plain(input));
    started.communication = communicate(collective, contiguous, started.results);
  }
  note_written(collective, started);
  if (collective.gather_dim != 0) gather_along(collective, started);
  return started;
}

}  // namespace hocket
