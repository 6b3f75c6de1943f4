// all_reduce(x / n, "sum") over n ranks as all_reduce(x, "avg"): one pass over the gradient less.
//
//   const Result<RewriteResult> folded = fold_averages(graph);
//
// Only where n is a power of two and the division has no other user: then both have the same bits, unless a half of a value underflows
// or a sum of two overflows.
#pragma once

#include "hocket/cost/cost_model.h"
#include "hocket/ir/rewrite.h"

namespace hocket {

struct FoldAveragesOptions {
  const CostModel* cost = nullptr;  // times of the new collectives; absent: those of the old ones
};

Result<RewriteResult> fold_averages(const Graph& graph, const FoldAveragesOptions& options = {});

}  // namespace hocket
