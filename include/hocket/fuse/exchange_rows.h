// The pass exchange_rows: an all-to-all takes rows from where they lie, and puts them where they belong.
//
// PyTorch's all_to_all_single takes what goes to each rank one behind the other, and gives what comes the same way. Mixtures of experts have their
// rows by expert, not by rank: they permute and copy all of the tensor before, or after. Here one collective, hocket.all_to_all_along, does both. A
// row that the program appends to what came, for tokens that were dropped, costs a third copy: the result has room for it from the start.
#pragma once

#include "hocket/cost/cost_model.h"
#include "hocket/ir/rewrite.h"

namespace hocket {

struct ExchangeRowsOptions {
  const CostModel* cost = nullptr;  // times of the new nodes; absent: they have none
  std::int64_t most_rows = 8;       // of what goes to a rank: every row is a message of its own
};

Result<RewriteResult> exchange_rows(const Graph& graph, const ExchangeRowsOptions& options = {});

}  // namespace hocket
