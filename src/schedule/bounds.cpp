#include "hocket/schedule/bounds.h"

#include <fmt/format.h>

#include <algorithm>

#include "schedule/last_bound.h"
#include "schedule/paths.h"
#include "schedule/serial_bound.h"

namespace hocket {

std::string to_string(const StepBound& bound) {
  switch (bound.kind) {
    case BoundKind::compute: return "all compute";
    case BoundKind::lane: return fmt::format("lane @{}", bound.lane);
    case BoundKind::critical_path: return "critical path";
    case BoundKind::serial: return "collectives that follow from each other, and too little to compute beside them";
    case BoundKind::compute_with_ends: return "compute with what must come before and after it";
    case BoundKind::last: return "all compute, and what is communicated last with too little to compute beside it";
    case BoundKind::lane_with_ends: return fmt::format("lane @{} with what must come before and after it", bound.lane);
  }
  return {};
}

StepBound step_bound(const StepGraph& steps) {
  const std::vector<std::int64_t> times = times_of(steps);
  const Paths paths(steps, times);
  StepBound best;
  const auto consider = [&](std::int64_t time, BoundKind kind, std::string_view lane = {}) {
    if (time > best.time.picoseconds) best = {Nanoseconds::from_picoseconds(time), kind, std::string(lane)};
  };
  std::vector<std::vector<LaneJob>> lanes(steps.lanes() + 1);  // the last one is compute
  std::int64_t longest = 0;
  for (StepIndex step = 0; step < steps.size(); ++step) {
    const std::int64_t time = paths.time(step);
    longest = std::max(longest, paths.head[step] + time + paths.tail[step]);
    if (time == 0) continue;
    const std::size_t lane = steps.kind(step) == StepKind::collective ? steps.lane(step) : steps.lanes();
    lanes[lane].push_back({paths.head[step], time, paths.tail[step]});
  }
  // Of equal bounds the plainest is named.
  const auto name = [&](std::size_t lane) {
    return lane == steps.lanes() ? std::string_view() : steps.lane_name(static_cast<std::uint32_t>(lane));
  };
  for (std::size_t lane = lanes.size(); lane-- > 0;) {
    std::int64_t busy = 0;
    for (const LaneJob& job : lanes[lane]) busy += job.time;
    consider(busy, lane == steps.lanes() ? BoundKind::compute : BoundKind::lane, name(lane));
  }
  consider(longest, BoundKind::critical_path);
  for (const auto& path : {paths.longest(), Paths(steps, times, Paths::Weigh::collectives).longest()})
    consider(serial_bound(steps, path, times), BoundKind::serial);
  consider(last_bound(steps, {}, paths), BoundKind::last);
  for (std::size_t lane = lanes.size(); lane-- > 0;) {
    consider(preemptive_end(std::move(lanes[lane])),
             lane == steps.lanes() ? BoundKind::compute_with_ends : BoundKind::lane_with_ends, name(lane));
  }
  return best;
}

}  // namespace hocket
