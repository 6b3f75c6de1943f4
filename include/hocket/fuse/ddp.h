// Data-parallel gradients, averaged by one all_reduce each, in buckets: the passes fuse_ddp_with_concat and fuse_ddp_with_coalesced.
//
//   const Result<RewriteResult> fused = fuse_ddp_with_concat(graph, {.bucket_size_mb = 25});
//
// Blocks are taken if their all_reduce averages a gradient: its reduce operation is avg; or its input is a division by a number, and
// its wait has one user, the graph's output or a copy_ into the gradient. Buckets fill in the order of the graph; what differs in group, reduce operation, dtype
// or divisor is in another bucket. The fused collective stands right after its last input. Users of early gradients that would now
// stand before it move behind it, in their old order.
#pragma once

#include "hocket/cost/cost_model.h"
#include "hocket/fuse/form.h"
#include "hocket/ir/rewrite.h"

namespace hocket {

struct FuseDdpOptions {
  double bucket_size_mb = 25;       // MiB at which a bucket closes, the one that reaches it included
  double first_bucket_mb = 1;       // the same for the first: communication is to start early
  const CostModel* cost = nullptr;  // times of the new nodes; absent: they have none
};

Result<RewriteResult> fuse_ddp_with_concat(const Graph& graph, const FuseDdpOptions& options = {});
Result<RewriteResult> fuse_ddp_with_coalesced(const Graph& graph, const FuseDdpOptions& options = {});

// The buckets that the passes would make, also those of one member, which stay as they are. For reports and tests.
struct DdpBuckets {
  std::vector<std::vector<NodeId>> collectives;  // by bucket, in the order in which buckets begin
  std::vector<std::string> notes;                // the all_reduces that were left alone, and why
};
Result<DdpBuckets> ddp_buckets(const Graph& graph, const FuseDdpOptions& options = {});

}  // namespace hocket
