// A tensor that is copied over another one is used instead of it: gradient.copy_(all_reduce(gradient)) becomes a use of the result.
//
//   const Result<RewriteResult> forwarded = forward_copies(graph);
//
// Where it computes the same: both tensors are whole, of one type and of memory that the graph allocates; the copied one is not used
// any more; and no view of the other one from before the copy is used behind it.
#pragma once

#include "hocket/ir/rewrite.h"

namespace hocket {

struct ForwardCopiesOptions {};

Result<RewriteResult> forward_copies(const Graph& graph, const ForwardCopiesOptions& options = {});

}  // namespace hocket
