// The collectives of torch.distributed's older interface: they return when they are complete, and the result is in the caller's
// tensor. Each is the functional collective and a copy, so that the tensor may lie in memory as it likes.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

#include "hocket/torch/collectives.h"

namespace hocket {

at::Tensor all_reduce_inplace(const at::Tensor& tensor, const ReduceBy& by, const GroupArg& group = "world");
// One output for each rank.
Tensors all_gather_inplace(const Tensors& outputs, const at::Tensor& input, const GroupArg& group = "world");
at::Tensor all_gather_tensor_inplace(const at::Tensor& output, const at::Tensor& input, std::int64_t gather_dim = 0,
                                     const GroupArg& group = "world");
at::Tensor reduce_scatter_tensor_inplace(const at::Tensor& output, const at::Tensor& input, const ReduceBy& by,
                                         std::int64_t scatter_dim = 0, const GroupArg& group = "world");
at::Tensor all_to_all_inplace(const at::Tensor& output, const at::Tensor& input, const Splits& output_splits = {},
                              const Splits& input_splits = {}, const GroupArg& group = "world");

}  // namespace hocket
