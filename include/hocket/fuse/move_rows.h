// The pass move_rows: gathers and scatters along another dimension than the first move rows from and to where they lie.
//
// Captured programs know collectives along the first dimension only. To gather x[B,S,…] along S they gather, cut the result into the ranks'
// parts and put those beside each other; to scatter along S they do the same before. Each time all of the large tensor is copied. Here one
// collective, hocket.all_gather_along or hocket.reduce_scatter_along, takes and gives the B rows where they belong.
#pragma once

#include "hocket/cost/cost_model.h"
#include "hocket/ir/rewrite.h"

namespace hocket {

struct MoveRowsOptions {
  const CostModel* cost =
      nullptr;  // times of the new nodes, and what is worth it; absent: they have none, and everything is
  std::int64_t most_rows = 8;  // a larger batch keeps its copy: every row is a message of its own
};

Result<RewriteResult> move_rows(const Graph& graph, const MoveRowsOptions& options = {});

}  // namespace hocket
