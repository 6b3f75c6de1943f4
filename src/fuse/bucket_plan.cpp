// Filling buckets in the order of the graph, one open bucket for each kind.
//
// Positions make sure that no member depends on another: all members are ready behind the fused collective's position, and none
// is needed before it. Nothing of weight moves, so every such bucket leaves the others' positions true.
#include "fuse/bucket_plan.h"

#include <algorithm>
#include <array>
#include <map>
#include <set>

#include "fuse/bucket_memory.h"
#include "fuse/bucket_times.h"

namespace hocket::fuse {

namespace {

constexpr double bytes_in_a_mib = 1024.0 * 1024.0;
constexpr double size_without_cost_mb = 25;
// Sizes to choose from by the cost model, in MiB, in rising order. What is between two of them differs little.
constexpr std::array<double, 5> sizes_to_try_mb = {4, 16, 64, 256, 1024};

class Planner {
 public:
  // Copies of `times` and `memory`, where there are such, keep count of this plan.
  Planner(const Graph& graph, const Windows& windows, double size_mb, const std::optional<BucketTimes>& times,
          const std::optional<BucketMemory>& memory)
      : graph_(graph), windows_(windows), size_mb_(size_mb), times_(times), memory_(memory) {}

  Nanoseconds step_time() const { return times_->overlapped_step_time(); }
  bool size_mattered() const { return size_mattered_; }

  BucketPlan run(const std::vector<Candidate>& candidates) {
    for (const Candidate& candidate : candidates) {
      const auto entry = open_.find(candidate.key);
      if (entry == open_.end()) {
        begin(candidate, nullptr);
        continue;
      }
      const std::string_view reason = try_to_add(entry->second, candidate);
      if (reason.empty()) continue;
      notes_.push_back(fmt::format("{}: not with {}: {}", graph_.name(candidate.block.collective),
                                   graph_.name(buckets_[entry->second.number].members.back()->block.collective),
                                   reason));
      begin(candidate, &entry->second);
    }
    BucketPlan plan;
    for (PlannedBucket& bucket : buckets_) {
      if (bucket.members.size() > 1) plan.buckets.push_back(std::move(bucket));
    }
    plan.notes = std::move(notes_);
    return plan;
  }

 private:
  struct Open {
    std::size_t number = 0;    // in buckets_
    std::uint32_t needed = 0;  // the first of its members is needed here
    Bytes bytes;
    std::set<NodeId> inputs;
    BucketTimes::Open times;
    BucketMemory::Open memory;
  };

  void begin(const Candidate& candidate, const Open* before) {
    Open open{buckets_.size(),
              windows_.needed(candidate.block),
              candidate.larger_side(),
              {candidate.block.input()},
              {},
              BucketMemory::open(candidate)};
    if (times_) open.times = times_->open(candidate, before == nullptr ? nullptr : &before->times);
    buckets_.push_back({{&candidate}, candidate.position()});
    open_.insert_or_assign(candidate.key, std::move(open));
  }

  // Why not, or nothing if it was added.
  std::string_view try_to_add(Open& open, const Candidate& candidate) {
    PlannedBucket& bucket = buckets_[open.number];
    if (static_cast<double>(open.bytes.count) >= size_mb_ * bytes_in_a_mib) {
      size_mattered_ = true;
      return "the bucket is full";
    }
    if (open.inputs.contains(candidate.block.input())) return "the bucket communicates its input already";
    const std::uint32_t needed = std::min(open.needed, windows_.needed(candidate.block));
    std::uint32_t position = std::max(bucket.position, windows_.ready(candidate.block.collective));
    // If the bucket has to move back anyway, then to where the new one stands, if it can: nothing has to be raised for that.
    if (position > bucket.position && candidate.position() < needed) position = candidate.position();
    if (position >= needed) return "one of the bucket is needed before this one is ready";
    BucketMemory::Open memory = open.memory;
    if (memory_ && !memory_->add(memory, candidate, position)) return "it would exceed the memory limit";
    if (times_ && !times_->add(open.times, candidate, position)) {
      if (memory_) memory_->take_back();
      return "it would expose more time than it saves";
    }
    open.memory = memory;
    bucket.members.push_back(&candidate);
    bucket.position = position;
    open.needed = needed;
    open.bytes += candidate.larger_side();
    open.inputs.insert(candidate.block.input());
    return {};
  }

  const Graph& graph_;
  const Windows& windows_;
  double size_mb_;
  bool size_mattered_ = false;
  std::optional<BucketTimes> times_;
  std::optional<BucketMemory> memory_;
  std::vector<PlannedBucket> buckets_;
  std::map<CollectiveKey, Open> open_;
  std::vector<std::string> notes_;
};

}  // namespace

BucketPlan plan_buckets(const Graph& graph, const Candidates& candidates, const Windows& windows,
                        const BucketOptions& options) {
  std::optional<BucketTimes> times;
  std::optional<BucketMemory> memory;
  if (options.cost != nullptr) times.emplace(graph, windows, *options.cost, options.form);
  if (options.memory_limit) memory.emplace(graph, windows, *options.memory_limit, options.form);
  if (options.bucket_size_mb || options.cost == nullptr) {
    const double size_mb = options.bucket_size_mb.value_or(size_without_cost_mb);
    return Planner(graph, windows, size_mb, times, memory).run(candidates.list);
  }
  std::optional<BucketPlan> best;
  Nanoseconds best_time;
  for (const double size_mb : sizes_to_try_mb) {
    Planner planner(graph, windows, size_mb, times, memory);
    BucketPlan plan = planner.run(candidates.list);
    const Nanoseconds time = planner.step_time();
    if (!best || time <= best_time) {
      best_time = time;
      best = std::move(plan);
    }
    if (!planner.size_mattered()) break;  // larger ones give the same plan
  }
  return std::move(*best);
}

}  // namespace hocket::fuse
