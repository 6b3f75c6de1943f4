// The form of an operator that writes its results where it is told: aten::mm.out for aten::mm.
#pragma once

#include <ATen/core/dispatch/Dispatcher.h>

#include <optional>

namespace hocket {

// Nothing where the operator changes or returns its arguments, or has no such form. The arguments of the form are those of the
// operator, then one tensor for each result.
std::optional<c10::OperatorHandle> find_out_variant(const c10::OperatorHandle& op);

}  // namespace hocket
