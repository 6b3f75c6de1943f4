// The pass copies_to_views: next to communication, parts of a tensor that are put together again as they lie in memory become a view.
//
//   %parts = aten.split.Tensor(%x, 1024, 1)          %x: bf16[1,8192,4096]
//   %all = aten.cat([%parts[0], … %parts[7]])        bf16[8,1024,4096]: the same bytes in the same order
//   %sum = _c10d_functional.reduce_scatter_tensor(%all, …)
//
// Programs that scatter or gather along another dimension than the first rearrange their tensors so; with a batch of one nothing moves.
#pragma once

#include "hocket/ir/rewrite.h"

namespace hocket {

struct CopiesToViewsOptions {};

Result<RewriteResult> copies_to_views(const Graph& graph, const CopiesToViewsOptions& options = {});

}  // namespace hocket
