// Collectives that are an all_to_all with the data in another order.
#include <ATen/ATen.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "torch/check.h"
#include "torch/differentiable.h"
#include "torch/dispatch.h"
#include "torch/record.h"
#include "torch/recorder.h"
#include "torch/tensor_collective.h"

namespace hocket {

namespace {

constexpr const char* reshard = "shard_dim_alltoall";

struct Resharding {
  ResolvedGroup group;
  std::int64_t gather_dim;
  std::int64_t shard_dim;
};

std::int64_t wrapped(std::int64_t dim, const at::Tensor& input) {
  if (dim < -input.dim() || dim >= input.dim()) {
    fail_call(reshard, "dim {} of a tensor with {} dims", dim, input.dim());
  }
  return dim < 0 ? dim + input.dim() : dim;
}

at::Tensor exchange(const Resharding& to, const at::Tensor& input) {
  const at::NoGradGuard no_gradients;
  // A capture on meta is looked at, one with real tensors may be run: the executor has all_to_all_single.
  if (current_recorder() != nullptr && current_recorder()->on_meta()) {
    return record_call("_dtensor::shard_dim_alltoall", {input, to.gather_dim, to.shard_dim, to.group.name})[0];
  }
  const TensorCollective collective{.kind = TensorCollective::Kind::all_to_all, .group = to.group};
  const at::Tensor parts = at::stack(input.chunk(to.group.size, to.shard_dim));
  return at::cat(start(collective, {parts}).one().wait().unbind(), to.gather_dim);
}

at::Tensor resharded(const Resharding& to, const at::Tensor& input) {
  const at::Tensor result = exchange(to, input);
  if (!need_gradient({input})) return result;
  set_backward({input}, {result}, reshard,
               [back = Resharding{to.group, to.shard_dim, to.gather_dim}](const Tensors& gradients) -> Tensors {
                 return {resharded(back, gradients[0])};
               });
  return result;
}

}  // namespace

at::Tensor shard_dim_alltoall(const at::Tensor& input, std::int64_t gather_dim, std::int64_t shard_dim,
                              const GroupArg& group) {
  Resharding to{resolve_group(reshard, group, check_tensors(reshard, {input})), wrapped(gather_dim, input),
                wrapped(shard_dim, input)};
  if (input.size(to.shard_dim) % to.group.size != 0) {
    fail_call(reshard, "dim {} of size {} does not divide by the group's size {}", to.shard_dim,
              input.size(to.shard_dim), to.group.size);
  }
  return resharded(to, input);
}

AsyncTensor permute_tensor(const at::Tensor& input, const std::vector<std::int32_t>& destinations,
                           const GroupArg& group) {
  const char* op = "permute_tensor";
  TensorCollective collective{.kind = TensorCollective::Kind::all_to_all,
                              .group = resolve_group(op, group, check_tensors(op, {input}))};
  const auto members = static_cast<std::size_t>(collective.group.size);
  std::vector<std::int32_t> sorted = destinations;
  std::sort(sorted.begin(), sorted.end());
  bool is_permutation = sorted.size() == members;
  for (std::size_t i = 0; is_permutation && i < members; ++i)
    is_permutation = sorted[i] == static_cast<std::int32_t>(i);
  if (!is_permutation) {
    fail_call(op, "destinations [{}], expected each of 0 to {} once", fmt::join(destinations, ", "), members - 1);
  }
  if (!collective.group.place) fail_call(op, "needs to know which rank is captured: say CaptureOptions::rank");
  const std::int32_t place = *collective.group.place;
  const auto source = std::find(destinations.begin(), destinations.end(), place) - destinations.begin();
  collective.has_splits = true;
  collective.input_splits.assign(members, 0);
  collective.output_splits.assign(members, 0);
  collective.input_splits[static_cast<std::size_t>(destinations[static_cast<std::size_t>(place)])] = input.numel();
  collective.output_splits[static_cast<std::size_t>(source)] = input.numel();
  return run(collective, {input.reshape({-1})}).one().view(input.sizes());
}

}  // namespace hocket
