// Functional collectives on torch tensors. Inputs are never changed; the result is waited for.
//
//   at::Tensor sum = all_reduce(gradient / 4, "sum", {.name = "dp", .ranks = {0, 1, 2, 3}});
//
// For now they work inside capture() only, where each records its operator and an explicit wait_tensor.
// Reduce operations: sum, avg, product, min, max, band, bor, bxor; case does not matter.
// A wrong call throws c10::Error, as libtorch's own functions do.
#pragma once

#include <ATen/core/Tensor.h>

#include <string_view>

#include "hocket/torch/capture.h"

namespace hocket {

at::Tensor all_reduce(const at::Tensor& input, std::string_view reduce_op, const GroupSpec& group);

// Dimension 0 becomes group size times as large; a 0-d tensor gives [group size].
at::Tensor all_gather_into_tensor(const at::Tensor& input, const GroupSpec& group);

// Dimension 0 becomes group size times smaller, and must divide.
at::Tensor reduce_scatter_tensor(const at::Tensor& input, std::string_view reduce_op, const GroupSpec& group);

}  // namespace hocket
