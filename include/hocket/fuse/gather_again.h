// The pass gather_again: an all_gather whose result is used before the program's peak of memory could come, and again behind it, is done
// twice. What depends on the peak takes the second one's result.
//
//   %all = all_gather(%x)               %all = all_gather(%x)
//   %there = wait(%all)                 %there = wait(%all)
//   %early = mm(%there, …)         ->   %early = mm(%there, …)
//   %peak = …                           %peak = …
//   %late = mm(%there, %peak)           %all_again = all_gather(%x)
//                                       %there_again = wait(%all_again)
//                                       %late = mm(%there_again, %peak)
//
// Between both, only what is gathered is held, one part of as many as there are ranks. The order stays the same. Steps that compute
// activations again can then do so long before they are needed: the optimiser `overlap` decides for which of them that pays.
#pragma once

#include <vector>

#include "hocket/cost/cost_model.h"
#include "hocket/ir/rewrite.h"

namespace hocket {

struct GatherAgainOptions {
  NodeId peak;                      // a node that holds the most
  std::vector<NodeId> among;        // all_gathers that may be done twice; empty: all
  const CostModel* cost = nullptr;  // times of the new nodes; absent: they take what the old ones do
};

struct GatherAgainResult {
  RewriteResult rewrite;
  std::vector<NodeId> second;  // the second gathers, in the new graph
};

Result<GatherAgainResult> gather_again(const Graph& graph, const GatherAgainOptions& options);

}  // namespace hocket
