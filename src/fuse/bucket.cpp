#include "hocket/fuse/bucket.h"

#include "fuse/bucket_plan.h"
#include "fuse/fusion.h"

namespace hocket {

namespace {

using fuse::Bucket;
using fuse::Place;

// What the two passes differ in.
struct Kind {
  std::string_view op;
  std::string_view name;
  fuse::MakeForm make;
};

Status check(const BucketOptions& options) {
  if (options.bucket_size_mb && !(*options.bucket_size_mb >= 0))
    return fail(ErrorKind::usage, "a bucket of {} MiB; expected 0 or more", *options.bucket_size_mb);
  if (options.memory_limit && options.memory_limit->count < 0)
    return fail(ErrorKind::usage, "a memory limit of {} bytes; expected 0 or more", options.memory_limit->count);
  return {};
}

Bucket placed(const fuse::PlannedBucket& planned, const fuse::Windows& windows, std::uint32_t number) {
  Bucket bucket;
  bucket.start = {planned.position, Place::fused, number};
  const auto waits = fuse::wait_positions(planned.members, windows, planned.position);
  for (std::size_t i = 0; i < planned.members.size(); ++i) {
    const NodeId wait = planned.members[i]->block.wait();
    bucket.members.push_back(&planned.members[i]->block);
    bucket.results.push_back(waits[i] == wait.value ? fuse::place_of(wait) : Place{waits[i], Place::ahead, wait.value});
  }
  return bucket;
}

std::vector<Place> places_around(const Graph& graph, const OrderConstraints& constraints, const fuse::Windows& windows,
                                 const std::vector<Bucket>& buckets) {
  std::vector<Place> places(graph.size());
  std::vector<bool> fixed(graph.size(), false);
  const auto fix = [&](NodeId id, Place place) {
    places[id.index()] = place;
    fixed[id.index()] = true;
  };
  for (const Bucket& bucket : buckets) {
    for (std::size_t i = 0; i < bucket.members.size(); ++i) {
      const CommBlock& block = *bucket.members[i];
      for (const NodeId light : windows.light_before(block.collective, bucket.start.position)) {
        if (!fixed[light.index()]) fix(light, {bucket.start.position, Place::raised, light.value});
      }
      fix(block.collective, bucket.start);
      fix(block.wait(), bucket.results[i]);
    }
  }
  fuse::follow(constraints, fixed, places);
  return places;
}

Result<RewriteResult> bucket(const Graph& graph, const BucketOptions& options, const Kind& kind) {
  HOCKET_CHECK(check(options));
  fuse::Candidates candidates = fuse::find_candidates(graph, kind.op);
  RewriteResult result;
  result.notes = std::move(candidates.notes);
  if (candidates.list.size() < 2) {
    result.report = fmt::format("{} {} to merge", candidates.list.size(), kind.name);
    return result;
  }
  const OrderConstraints constraints(graph);
  const fuse::Windows windows(graph, constraints, candidates.waits());
  fuse::BucketPlan plan = fuse::plan_buckets(graph, candidates, windows, options);
  result.notes.insert(result.notes.end(), plan.notes.begin(), plan.notes.end());
  std::vector<Bucket> buckets;
  std::size_t merged = 0;
  for (const fuse::PlannedBucket& planned : plan.buckets) {
    buckets.push_back(placed(planned, windows, static_cast<std::uint32_t>(buckets.size())));
    merged += planned.members.size();
  }
  if (!buckets.empty()) {
    const std::vector<Place> places = places_around(graph, constraints, windows, buckets);
    HOCKET_TRY(result.graph,
               fuse::fuse_buckets(graph, buckets, places,
                                  {options.form, kind.make, fmt::format("{}_bucket", kind.name), options.cost}));
  }
  result.report = fmt::format("merged {} of {} {} into {} ({})", merged, candidates.list.size(), kind.name,
                              buckets.size(), name_of(options.form));
  return result;
}

}  // namespace

Result<RewriteResult> bucket_all_gather(const Graph& graph, const BucketOptions& options) {
  return bucket(graph, options,
                {"_c10d_functional.all_gather_into_tensor.default", "all_gather", fuse::make_gather_form});
}

Result<RewriteResult> bucket_reduce_scatter(const Graph& graph, const BucketOptions& options) {
  return bucket(graph, options,
                {"_c10d_functional.reduce_scatter_tensor.default", "reduce_scatter", fuse::make_scatter_form});
}

}  // namespace hocket
