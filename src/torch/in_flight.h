// Communication on memory that belongs to the caller: in-place collectives, `out` arguments, receives. wait_tensor() finds it by
// the memory, also where the caller has let go of the AsyncTensor.
#pragma once

#include <ATen/core/Tensor.h>

#include <memory>

#include "torch/communication.h"

namespace hocket {

void note_in_flight(const at::Tensor& tensor, const std::shared_ptr<Communication>& communication);

// Waits for all communication on the tensor's memory. Throws if one failed, as long as the memory is there.
void wait_for_memory_of(const at::Tensor& tensor);

}  // namespace hocket
