// The pass scatter_rows: a reduce_scatter along the second dimension of a small batch takes the rows of the batch as they lie.
//
// Captured programs cut x[B,S,…] into parts along S, put the parts behind each other and scatter that: a copy of all of x. Here one
// coalesced collective takes the B rows of x, and only the result, a part as large, is put together.
#pragma once

#include "hocket/cost/cost_model.h"
#include "hocket/ir/rewrite.h"

namespace hocket {

struct ScatterRowsOptions {
  const CostModel* cost = nullptr;  // times of the new nodes; absent: they have none
  std::int64_t most_rows = 8;       // a larger batch keeps its copy: every row is a tensor of its own
};

Result<RewriteResult> scatter_rows(const Graph& graph, const ScatterRowsOptions& options = {});

}  // namespace hocket
