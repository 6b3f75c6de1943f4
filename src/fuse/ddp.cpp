#include "hocket/fuse/ddp.h"

#include "fuse/ddp_buckets.h"
#include "fuse/fusion.h"

namespace hocket {

namespace {

using fuse::Bucket;
using fuse::GradientBucket;
using fuse::GradientPlan;
using fuse::Place;

Status check(const FuseDdpOptions& options) {
  for (const double size : {options.bucket_size_mb, options.first_bucket_mb}) {
    if (!(size >= 0)) return fail(ErrorKind::usage, "a bucket of {} MiB; expected 0 or more", size);
  }
  return {};
}

// Right after its last input; the results follow at once. schedule_comm_wait puts the wait where it belongs.
Bucket placed(const GradientPlan& plan, const GradientBucket& gradients, std::uint32_t number) {
  Bucket bucket;
  bucket.start = {gradients.last_input.value, Place::fused, number};
  for (const std::size_t member : gradients.members) {
    const fuse::GradientAverage& average = plan.averages[member];
    bucket.members.push_back(&average.block);
    if (average.divides()) bucket.gone.push_back(average.anchor());
    bucket.results.push_back(bucket.start);
  }
  return bucket;
}

std::vector<Place> places_around(const Graph& graph, const OrderConstraints& constraints,
                                 const std::vector<Bucket>& buckets) {
  std::vector<Place> places(graph.size());
  std::vector<bool> fixed(graph.size(), false);
  for (const Bucket& bucket : buckets) {
    const auto fix = [&](NodeId id) {
      places[id.index()] = bucket.start;
      fixed[id.index()] = true;
    };
    for (const NodeId id : bucket.gone) fix(id);
    for (const CommBlock* const member : bucket.members) {
      fix(member->collective);
      fix(member->wait());
    }
  }
  fuse::follow(constraints, fixed, places);
  return places;
}

Result<RewriteResult> fuse_ddp(const Graph& graph, const FuseDdpOptions& options, FusedForm form) {
  HOCKET_CHECK(check(options));
  const OrderConstraints constraints(graph);
  GradientPlan plan = fuse::plan_gradients(graph, constraints, options);
  std::vector<Bucket> buckets;
  std::size_t fused = 0;
  for (const GradientBucket& gradients : plan.buckets) {
    if (gradients.members.size() < 2) continue;
    buckets.push_back(placed(plan, gradients, static_cast<std::uint32_t>(buckets.size())));
    fused += gradients.members.size();
  }
  RewriteResult result;
  if (!buckets.empty()) {
    const std::vector<Place> places = places_around(graph, constraints, buckets);
    HOCKET_TRY(result.graph,
               fuse::fuse_buckets(graph, buckets, places, {form, fuse::make_ddp_form, "ddp_bucket", options.cost}));
  }
  result.report = fmt::format("fused {} of {} gradient averages into {} bucket{} ({})", fused, plan.averages.size(),
                              buckets.size(), buckets.size() == 1 ? "" : "s", name_of(form));
  result.notes = std::move(plan.notes);
  return result;
}

}  // namespace

Result<RewriteResult> fuse_ddp_with_concat(const Graph& graph, const FuseDdpOptions& options) {
  return fuse_ddp(graph, options, FusedForm::concat);
}

Result<RewriteResult> fuse_ddp_with_coalesced(const Graph& graph, const FuseDdpOptions& options) {
  return fuse_ddp(graph, options, FusedForm::coalesced);
}

Result<DdpBuckets> ddp_buckets(const Graph& graph, const FuseDdpOptions& options) {
  HOCKET_CHECK(check(options));
  const OrderConstraints constraints(graph);
  GradientPlan plan = fuse::plan_gradients(graph, constraints, options);
  DdpBuckets result;
  for (const GradientBucket& bucket : plan.buckets) {
    result.collectives.emplace_back();
    for (const std::size_t member : bucket.members)
      result.collectives.back().push_back(plan.averages[member].block.collective);
  }
  result.notes = std::move(plan.notes);
  return result;
}

}  // namespace hocket
