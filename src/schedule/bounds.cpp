#include "hocket/schedule/bounds.h"

#include <fmt/format.h>

#include <algorithm>
#include <queue>

#include "schedule/serial_bound.h"

namespace hocket {

namespace {

struct Job {
  std::int64_t head, time, tail;  // picoseconds
};

// The end of the best schedule of one lane in which jobs may be interrupted.
std::int64_t preemptive_end(std::vector<Job> jobs) {
  std::sort(jobs.begin(), jobs.end(), [](const Job& a, const Job& b) { return a.head < b.head; });
  using Open = std::pair<std::int64_t, std::int64_t>;  // tail, time left
  std::priority_queue<Open> open;
  std::int64_t now = 0;
  std::int64_t end = 0;
  std::size_t next = 0;
  while (next < jobs.size() || !open.empty()) {
    if (open.empty()) now = std::max(now, jobs[next].head);
    while (next < jobs.size() && jobs[next].head <= now) {
      open.emplace(jobs[next].tail, jobs[next].time);
      ++next;
    }
    auto [tail, left] = open.top();
    open.pop();
    const std::int64_t until = next < jobs.size() ? std::min(now + left, jobs[next].head) : now + left;
    left -= until - now;
    now = until;
    if (left > 0) open.emplace(tail, left);
    else end = std::max(end, now + tail);
  }
  return end;
}

class Paths {
 public:
  explicit Paths(const StepGraph& steps)
      : head(steps.size(), 0), tail(steps.size(), 0), steps_(steps), from_(steps.size(), no_step) {
    const auto order = steps.original_order();
    for (const StepIndex step : order) {
      for (const StepIndex earlier : steps.before(step)) {
        const std::int64_t reached = head[earlier] + (needs_end(earlier, step) ? time(earlier) : 0);
        if (reached <= head[step]) continue;
        head[step] = reached;
        from_[step] = earlier;
      }
    }
    for (std::size_t p = order.size(); p-- > 0;) {
      const StepIndex step = order[p];
      for (const StepIndex later : steps.after(step)) {
        // What only needs the issue of a collective says nothing about what comes after its end.
        if (needs_end(step, later)) tail[step] = std::max(tail[step], time(later) + tail[later]);
      }
    }
  }

  std::int64_t time(StepIndex step) const { return steps_.time(step).picoseconds; }

  // The longest of all, from its first step to its last.
  std::vector<StepIndex> longest() const {
    std::vector<StepIndex> path;
    StepIndex last = no_step;
    for (StepIndex step = 0; step < steps_.size(); ++step) {
      if (last == no_step || head[step] + time(step) > head[last] + time(last)) last = step;
    }
    for (; last != no_step; last = from_[last]) path.push_back(last);
    std::reverse(path.begin(), path.end());
    return path;
  }

  std::vector<std::int64_t> head, tail;  // the longest path to and from each step, without itself

 private:
  bool needs_end(StepIndex earlier, StepIndex later) const {
    return steps_.kind(earlier) != StepKind::collective || steps_.kind(later) == StepKind::wait;
  }

  const StepGraph& steps_;
  std::vector<StepIndex> from_;  // the step before on the longest path to each
};

}  // namespace

std::string to_string(const StepBound& bound) {
  switch (bound.kind) {
    case BoundKind::compute: return "all compute";
    case BoundKind::lane: return fmt::format("lane @{}", bound.lane);
    case BoundKind::critical_path: return "critical path";
    case BoundKind::serial: return "collectives that follow from each other, and too little to compute beside them";
    case BoundKind::compute_with_ends: return "compute with what must come before and after it";
    case BoundKind::lane_with_ends: return fmt::format("lane @{} with what must come before and after it", bound.lane);
  }
  return {};
}

StepBound step_bound(const StepGraph& steps) {
  const Paths paths(steps);
  StepBound best;
  const auto consider = [&](std::int64_t time, BoundKind kind, std::string_view lane = {}) {
    if (time > best.time.picoseconds) best = {Nanoseconds::from_picoseconds(time), kind, std::string(lane)};
  };
  std::vector<std::vector<Job>> lanes(steps.lanes() + 1);  // the last one is compute
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
    for (const Job& job : lanes[lane]) busy += job.time;
    consider(busy, lane == steps.lanes() ? BoundKind::compute : BoundKind::lane, name(lane));
  }
  consider(longest, BoundKind::critical_path);
  consider(serial_bound(steps, paths.longest()), BoundKind::serial);
  for (std::size_t lane = lanes.size(); lane-- > 0;) {
    consider(preemptive_end(std::move(lanes[lane])),
             lane == steps.lanes() ? BoundKind::compute_with_ends : BoundKind::lane_with_ends, name(lane));
  }
  return best;
}

}  // namespace hocket
