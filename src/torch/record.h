// Calls of communicating operators inside a capture.
#pragma once

#include <ATen/core/stack.h>

#include "hocket/torch/collectives.h"

namespace hocket {

// Calls the operator, which the recorder sees and does not carry out, and gives its results.
Tensors record_call(const char* qualified_name, torch::jit::Stack arguments);
// And an explicit wait for each of them.
Tensors record_waits(const Tensors& results);

}  // namespace hocket
