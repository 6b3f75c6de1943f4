// Many all_gathers or reduce_scatters become few: the passes bucket_all_gather and bucket_reduce_scatter.
//
//   const Result<RewriteResult> merged = bucket_all_gather(graph, {.cost = &cost, .memory_limit = peak});
//
// One bucket holds collectives of the same group, dtype and reduce operation that do not depend on each other. The fused collective
// stands where the first of them stood, or behind the last input that it needs; casts, copies and views that lead to an input
// move along. With a cost model two are merged only if all work around them is done no later than without, by the two-lane model:
// both in the order as it is, and in one where collectives start as early and waits come as late as they can.
#pragma once

#include "hocket/cost/cost_model.h"
#include "hocket/fuse/form.h"
#include "hocket/ir/rewrite.h"

namespace hocket {

struct BucketOptions {
  FusedForm form = FusedForm::coalesced;
  const CostModel* cost = nullptr;  // absent: buckets close by size alone, and new nodes have no times
  // MiB of the larger side at which a bucket closes; absent: the cost model decides, or it is 25 without one.
  std::optional<double> bucket_size_mb = std::nullopt;
  // No merge that may need more than this at once, by an estimate that errs on the safe side.
  std::optional<Bytes> memory_limit = std::nullopt;
};

Result<RewriteResult> bucket_all_gather(const Graph& graph, const BucketOptions& options = {});
Result<RewriteResult> bucket_reduce_scatter(const Graph& graph, const BucketOptions& options = {});

}  // namespace hocket
