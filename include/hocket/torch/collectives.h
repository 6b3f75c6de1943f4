// Functional collectives on torch tensors: values in, values out. The input is never changed, and the result is on its way when the
// function returns.
//
//   AsyncTensor sum = all_reduce(gradient, "sum", mesh["dp"]);
//   AsyncTensor weight = all_gather_into_tensor(shard, "tp");
//   loss = at::mse_loss(at::linear(x, weight), y);             // waits for the weight, not for the sum
//
// Groups are resolved in World::current(); the first call of a group returns when all its ranks have come. Where an input
// requires grad, the result does too, and the backward communicates: that of a sum and of all that only moves data; other
// reductions and broadcast have none, which their backward says.
// Tensors are on the CPU; those on meta give their results' shapes without communication. A wrong call throws CollectiveError, a
// c10::Error. Inside capture() a collective is recorded with an explicit wait_tensor and not carried out.
// `source` and the like are places in the group, 0 … size-1.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

#include "hocket/torch/async_tensor.h"
#include "hocket/torch/group_arg.h"
#include "hocket/torch/reduce_by.h"

namespace hocket {

using AsyncTensors = std::vector<AsyncTensor>;
using Tensors = std::vector<at::Tensor>;
using Splits = std::vector<std::int64_t>;  // rows of dim 0, one number for each rank

AsyncTensor all_reduce(const at::Tensor& input, const ReduceBy& by, const GroupArg& group = "world");
// Dim 0 becomes group size times as large; a tensor without dims gives [group size].
AsyncTensor all_gather_into_tensor(const at::Tensor& input, const GroupArg& group = "world");
// The same along any dim; negative ones count from the last.
AsyncTensor all_gather_tensor(const at::Tensor& input, std::int64_t gather_dim, const GroupArg& group = "world");
// Dim 0, or scatter_dim, becomes group size times smaller, and must divide.
AsyncTensor reduce_scatter_tensor(const at::Tensor& input, const ReduceBy& by, const GroupArg& group = "world");
AsyncTensor reduce_scatter_tensor(const at::Tensor& input, const ReduceBy& by, std::int64_t scatter_dim,
                                  const GroupArg& group);
// Part i of dim 0 goes to place i: equal parts, or as many rows as the splits say.
AsyncTensor all_to_all_single(const at::Tensor& input, const GroupArg& group = "world");
AsyncTensor all_to_all_single(const at::Tensor& input, const Splits& output_splits, const Splits& input_splits,
                              const GroupArg& group = "world");
AsyncTensor broadcast(const at::Tensor& input, std::int32_t source, const GroupArg& group = "world");
// Place m sends its tensor to place destinations[m].
AsyncTensor permute_tensor(const at::Tensor& input, const std::vector<std::int32_t>& destinations,
                           const GroupArg& group = "world");
// A tensor that was sharded along gather_dim gets sharded along shard_dim. Returns when it is complete.
at::Tensor shard_dim_alltoall(const at::Tensor& input, std::int64_t gather_dim, std::int64_t shard_dim,
                              const GroupArg& group = "world");

// Many tensors, one communication for each dtype: who waits for one result waits for all.
AsyncTensors all_reduce_coalesced(const Tensors& inputs, const ReduceBy& by, const GroupArg& group = "world");
AsyncTensors all_gather_into_tensor_coalesced(const Tensors& inputs, const GroupArg& group = "world");
AsyncTensors reduce_scatter_tensor_coalesced(const Tensors& inputs, const ReduceBy& by,
                                             const GroupArg& group = "world");
AsyncTensors reduce_scatter_tensor_coalesced(const Tensors& inputs, const ReduceBy& by,
                                             const std::vector<std::int64_t>& scatter_dims, const GroupArg& group);

// Into the caller's contiguous memory, which is the result: it may be used when the result was waited for, or by wait_tensor().
// Without a backward.
AsyncTensor all_reduce_(const at::Tensor& tensor, const ReduceBy& by, const GroupArg& group = "world");
AsyncTensors all_reduce_coalesced_(const Tensors& tensors, const ReduceBy& by, const GroupArg& group = "world");
AsyncTensor broadcast_(const at::Tensor& tensor, std::int32_t source, const GroupArg& group = "world");
AsyncTensor all_gather_into_tensor_out(const at::Tensor& input, const at::Tensor& out, const GroupArg& group = "world");
AsyncTensor reduce_scatter_tensor_out(const at::Tensor& input, const ReduceBy& by, const at::Tensor& out,
                                      const GroupArg& group = "world");

// The tensor, when all communication that hocket has started on its memory is complete.
at::Tensor wait_tensor(const at::Tensor& tensor);
inline at::Tensor wait_tensor(const AsyncTensor& tensor) { return tensor.wait(); }
Tensors wait_tensors(const AsyncTensors& tensors);

// PyTorch's names for what every collective does here.
inline AsyncTensor all_gather_tensor_autograd(const at::Tensor& input, std::int64_t gather_dim,
                                              const GroupArg& group = "world") {
  return all_gather_tensor(input, gather_dim, group);
}
inline AsyncTensor reduce_scatter_tensor_autograd(const at::Tensor& input, const ReduceBy& by, std::int64_t scatter_dim,
                                                  const GroupArg& group = "world") {
  return reduce_scatter_tensor(input, by, scatter_dim, group);
}
inline AsyncTensor all_to_all_single_autograd(const at::Tensor& input, const Splits& output_splits,
                                              const Splits& input_splits, const GroupArg& group = "world") {
  return all_to_all_single(input, output_splits, input_splits, group);
}

}  // namespace hocket
