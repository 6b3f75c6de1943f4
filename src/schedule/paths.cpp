#include "schedule/paths.h"

#include <algorithm>
#include <queue>

namespace hocket {

std::vector<std::int64_t> times_of(const StepGraph& steps) {
  std::vector<std::int64_t> times;
  for (StepIndex step = 0; step < steps.size(); ++step) times.push_back(steps.time(step).picoseconds);
  return times;
}

Paths::Paths(const StepGraph& steps, std::vector<std::int64_t> times, Weigh weigh)
    : head(steps.size(), 0),
      tail(steps.size(), 0),
      steps_(steps),
      times_(std::move(times)),
      weigh_(weigh),
      from_(steps.size(), no_step) {
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

std::int64_t Paths::time(StepIndex step) const {
  if (weigh_ == Weigh::collectives && steps_.kind(step) != StepKind::collective) return 0;
  return times_[step];
}

std::vector<StepIndex> Paths::longest() const {
  std::vector<StepIndex> path;
  StepIndex last = no_step;
  for (StepIndex step = 0; step < steps_.size(); ++step) {
    if (last == no_step || head[step] + time(step) > head[last] + time(last)) last = step;
  }
  for (; last != no_step; last = from_[last]) path.push_back(last);
  std::reverse(path.begin(), path.end());
  return path;
}

std::int64_t preemptive_end(std::vector<LaneJob> jobs) {
  std::sort(jobs.begin(), jobs.end(), [](const LaneJob& a, const LaneJob& b) { return a.head < b.head; });
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

}  // namespace hocket
