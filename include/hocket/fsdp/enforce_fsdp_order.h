// The pass enforce_fsdp_order: copy-in and all_gather become one group, the wait and the copy-out another; a layer's wait group comes
// before the next layer's gather group. The same for concat and reduce_scatter, and their wait. A group moves as one: its
// nodes stand next to each other afterwards.
//
// What is in a group: before a collective the casts, copies and views that only lead to it, down to the copy-in
// (fsdp.all_gather_copy_in; of a reduce_scatter fsdp.chunk_cat or aten.cat); behind a wait the views and the copy-out that follow from
// it alone. Collectives without a copy-in are left alone. Layers follow each other on each group of ranks.
#pragma once

#include "hocket/ir/rewrite.h"

namespace hocket {

struct EnforceFsdpOrderOptions {};

Result<RewriteResult> enforce_fsdp_order(const Graph& graph, const EnforceFsdpOrderOptions& options = {});

}  // namespace hocket
