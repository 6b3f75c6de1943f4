// Out-of-place collectives with an in-place form: the values are brought to where the results will lie.
#pragma once

#include <vector>

#include "lower/collective_call.h"

namespace hocket {

// The tensors of argument 0 at the places of the node's results. A value that dies here lends its buffer to the result; any
// other is copied.
std::vector<OperandId> bring_to_results(CollectiveCall& call);

// A list argument or a lone one, as argument 0 of the node is.
Arg like_first_argument(CollectiveCall& call, const std::vector<OperandId>& operands);

}  // namespace hocket
