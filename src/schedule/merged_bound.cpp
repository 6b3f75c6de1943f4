#include <algorithm>
#include <map>

#include "hocket/schedule/bounds.h"
#include "schedule/paths.h"
#include "schedule/serial_bound.h"

namespace hocket {

namespace {

// What one lane takes at least: all of a class in one collective, or in as few as memory allows. Times grow less than in
// proportion to the bytes, so that fewer and fuller ones never take longer.
class LaneFloor {
 public:
  LaneFloor(const StepGraph& steps, const OverlapOptions& options) : floor_(steps.lanes(), 0) {
    std::vector<bool> merges(steps.size(), false);
    std::vector<Bytes> total(options.classes.size());
    std::vector<std::uint32_t> lane(options.classes.size(), 0);
    for (const MergeCandidate& candidate : options.candidates) {
      merges[candidate.collective] = true;
      total[candidate.merge_class] += candidate.moved;
      lane[candidate.merge_class] = steps.lane(candidate.collective);
    }
    for (std::size_t c = 0; c < total.size(); ++c) floor_[lane[c]] += options.classes[c].time(total[c]).picoseconds;
    for (const StepIndex collective : steps.collectives()) {
      if (!merges[collective]) floor_[steps.lane(collective)] += steps.time(collective).picoseconds;
    }
  }
  std::int64_t of(std::uint32_t lane) const { return floor_[lane]; }

 private:
  std::vector<std::int64_t> floor_;
};

}  // namespace

StepBound merged_bound(const StepGraph& steps, const OverlapOptions& options) {
  const Paths paths(steps);
  StepBound best;
  const auto consider = [&](std::int64_t time, BoundKind kind, std::string_view lane = {}) {
    if (time > best.time.picoseconds) best = {Nanoseconds::from_picoseconds(time), kind, std::string(lane)};
  };
  std::vector<LaneJob> compute;
  std::int64_t busy = 0;
  std::int64_t longest = 0;
  constexpr std::int64_t never = INT64_MAX;
  std::vector<std::int64_t> head(steps.lanes(), never), tail(steps.lanes(), never);
  for (StepIndex step = 0; step < steps.size(); ++step) {
    const std::int64_t time = paths.time(step);
    longest = std::max(longest, paths.head[step] + time + paths.tail[step]);
    if (steps.kind(step) == StepKind::collective) {
      std::int64_t& first = head[steps.lane(step)];
      std::int64_t& last = tail[steps.lane(step)];
      first = std::min(first, paths.head[step]);
      last = std::min(last, paths.tail[step]);
    } else if (time > 0) {
      compute.push_back({paths.head[step], time, paths.tail[step]});
      busy += time;
    }
  }
  consider(busy, BoundKind::compute);
  consider(longest, BoundKind::critical_path);
  const LaneFloor floor(steps, options);
  for (std::uint32_t lane = 0; lane < steps.lanes(); ++lane) {
    if (head[lane] != never) consider(head[lane] + floor.of(lane) + tail[lane], BoundKind::lane, steps.lane_name(lane));
  }
  for (const auto weigh : {Paths::Weigh::everything, Paths::Weigh::collectives})
    consider(serial_bound(steps, Paths(steps, weigh).longest()), BoundKind::serial);
  consider(preemptive_end(std::move(compute)), BoundKind::compute_with_ends);
  return best;
}

}  // namespace hocket
