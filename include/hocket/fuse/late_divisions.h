// The pass late_divisions: reduce_scatter(x / n, "sum") divides the part that a rank gets, instead of the whole before it.
//
// Over n ranks it becomes reduce_scatter(x, "avg"), otherwise reduce_scatter(x, "sum") / n. Only where n is a power of two and the division has no
// other user: then both have the same bits, unless a part of a value is too small for its dtype or a sum too large.
#pragma once

#include "hocket/cost/cost_model.h"
#include "hocket/ir/rewrite.h"

namespace hocket {

struct LateDivisionsOptions {
  const CostModel* cost = nullptr;  // times of the new nodes; absent: they have none
};

Result<RewriteResult> late_divisions(const Graph& graph, const LateDivisionsOptions& options = {});

}  // namespace hocket
