// Symmetric tensors of a communicator, whatever group it is of.
#pragma once

#include <ATen/core/Tensor.h>

#include "hocket/comm/communicator.h"

namespace hocket {

// As symmetric_empty() of hocket/torch/symmetric_tensor.h, of which this is the second half.
at::Tensor symmetric_empty_of(const Communicator& communicator, at::IntArrayRef sizes, const at::TensorOptions& options,
                              const CallOptions& call);

}  // namespace hocket
