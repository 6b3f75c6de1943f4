// Which collectives share a bucket, and where the fused one stands.
#pragma once

#include <string>
#include <vector>

#include "fuse/bucket_candidates.h"
#include "hocket/fuse/bucket.h"

namespace hocket::fuse {

struct PlannedBucket {
  std::vector<const Candidate*> members;
  std::uint32_t position = 0;  // behind the old node that stands there
};

struct BucketPlan {
  std::vector<PlannedBucket> buckets;  // of two members or more, in the order in which they begin
  std::vector<std::string> notes;      // why the others are not in one
};

BucketPlan plan_buckets(const Graph& graph, const Candidates& candidates, const Windows& windows,
                        const BucketOptions& options);

}  // namespace hocket::fuse
