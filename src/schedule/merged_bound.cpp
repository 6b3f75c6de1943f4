#include <algorithm>

#include "hocket/schedule/bounds.h"
#include "schedule/last_bound.h"
#include "schedule/paths.h"
#include "schedule/serial_bound.h"

namespace hocket {

namespace {

// What one lane takes at least. A byte takes the least in the largest collective, all of its class in one; so no collective takes less than
// its share of that, or than its own time where it stays alone.
class LaneFloor {
 public:
  LaneFloor(const StepGraph& steps, const OverlapOptions& options) : floor_(steps.lanes(), 0) {
    std::vector<std::int64_t> total(options.classes.size(), 0);
    for (const MergeCandidate& candidate : options.candidates) total[candidate.merge_class] += candidate.moved.count;
    std::vector<std::int64_t> least = times_of(steps);
    for (const MergeCandidate& candidate : options.candidates) {
      const std::int64_t bytes = total[candidate.merge_class];
      if (bytes == 0) continue;
      const auto whole = static_cast<double>(options.classes[candidate.merge_class].time(Bytes(bytes)).picoseconds);
      const double share = whole * static_cast<double>(candidate.moved.count) / static_cast<double>(bytes);
      std::int64_t& time = least[candidate.collective];
      time = std::min(time, static_cast<std::int64_t>(share));
    }
    for (const StepIndex collective : steps.collectives()) floor_[steps.lane(collective)] += least[collective];
  }
  std::int64_t of(std::uint32_t lane) const { return floor_[lane]; }

 private:
  std::vector<std::int64_t> floor_;
};

// What each step takes at least: a collective that may be merged also no more than its class says of its bytes alone, which is less
// than its own time where that was measured or estimated otherwise.
std::vector<std::int64_t> least_times(const StepGraph& steps, const OverlapOptions& options) {
  std::vector<std::int64_t> times = times_of(steps);
  for (const MergeCandidate& candidate : options.candidates) {
    const std::int64_t alone = options.classes[candidate.merge_class].time(candidate.moved).picoseconds;
    times[candidate.collective] = std::min(times[candidate.collective], alone);
  }
  return times;
}

}  // namespace

StepBound merged_bound(const StepGraph& steps, const OverlapOptions& options) {
  const std::vector<std::int64_t> times = least_times(steps, options);
  const Paths paths(steps, times);
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
    consider(serial_bound(steps, Paths(steps, times, weigh).longest(), times), BoundKind::serial);
  consider(preemptive_end(std::move(compute)), BoundKind::compute_with_ends);
  consider(last_bound(steps, options, paths), BoundKind::last);
  return best;
}

}  // namespace hocket
