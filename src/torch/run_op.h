// Runs one operator for a capture. On meta tensors, where 1 in 9 operators has no kernel in C++, the types of the
// results come from the operator table, or from a run of the CPU kernel on scratch tensors of zeros.
#pragma once

#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/stack.h>

#include <functional>
#include <span>

#include "hocket/ir/op_table.h"

namespace hocket {

// Asked only where libtorch does not know.
using InferTypes = std::function<Result<Outputs>()>;

// Above this, scratch tensors are refused: the operator needs a row in the operator table instead.
inline constexpr std::int64_t max_scratch_bytes = std::int64_t{1} << 30;

// Replaces the arguments at the end of the stack by the results. `args` are copies of them, `keys` those of the
// fallback.
void run_below_capture(const c10::OperatorHandle& op, c10::DispatchKeySet keys, torch::jit::Stack& stack,
                       std::span<const c10::IValue> args, const InferTypes& infer);

// Memory for a result of this type. Real memory is not initialised.
at::Tensor make_tensor(const InferredType& type, c10::Device device);

// The dispatch keys that come after the one that captures listen to.
c10::DispatchKeySet keys_below_capture(c10::DispatchKeySet keys);

// Is any tensor or device argument of the call on meta?
bool is_on_meta(std::span<const c10::IValue> args);

}  // namespace hocket
