// The pass reinplace_all_gather: where the input of an all_gather is this rank's slice of the buffer that could hold the result, the
// collective writes into that buffer (all_gather_into_tensor_out) instead of a new one.
//
//   %c = fsdp.all_gather_copy_in([%shard], %buffer, [24], 24, 0)      // this rank's shard, copied to its place in the buffer
//   %own = getitem(%c, 0)
//   %all = _c10d_functional.all_gather_into_tensor(%own, 2, @dp)       // becomes …_out(%own, 2, @dp, out=getitem(%c, 1))
#pragma once

#include "hocket/ir/rewrite.h"

namespace hocket {

struct ReinplaceAllGatherOptions {};

Result<RewriteResult> reinplace_all_gather(const Graph& graph, const ReinplaceAllGatherOptions& options = {});

}  // namespace hocket
