// The pass lean_casts: casts and copies next to communication that move no more memory than they have to.
//
//   a cast or copy that changes nothing          -> what it is made of
//   a cast of a whole of which a part is used    -> a cast of that part
//   a cast of parts that were put together first -> one step that does both
//
// The values are the same to the bit: nothing is rounded otherwise or elsewhere.
#pragma once

#include "hocket/cost/cost_model.h"
#include "hocket/ir/rewrite.h"

namespace hocket {

struct LeanCastsOptions {
  const CostModel* cost = nullptr;  // times of the new nodes; absent: they have none
};

Result<RewriteResult> lean_casts(const Graph& graph, const LeanCastsOptions& options = {});

}  // namespace hocket
