#include "schedule/serial_bound.h"

#include <algorithm>
#include <queue>

namespace hocket {

namespace {

constexpr std::uint32_t not_in_chain = 0xffffffff;

// Which collectives of the chain a step can be computed beside: from `first` on, before `end`.
struct Beside {
  std::uint32_t first, end;
  std::int64_t time;
};

// The largest of times[first…end), for any range.
class RangeMaximum {
 public:
  explicit RangeMaximum(const std::vector<std::int64_t>& times) : levels_{times} {
    for (std::size_t width = 1; 2 * width <= times.size(); width *= 2) {
      const std::vector<std::int64_t>& half = levels_.back();
      std::vector<std::int64_t> whole;
      for (std::size_t i = 0; i + width < half.size(); ++i) whole.push_back(std::max(half[i], half[i + width]));
      levels_.push_back(std::move(whole));
    }
  }
  std::int64_t of(std::size_t first, std::size_t end) const {
    std::size_t level = 0;
    while ((std::size_t{2} << level) <= end - first) ++level;
    return std::max(levels_[level][first], levels_[level][end - (std::size_t{1} << level)]);
  }

 private:
  std::vector<std::vector<std::int64_t>> levels_;  // of ranges of 1, 2, 4, …
};

class Chain {
 public:
  Chain(const StepGraph& steps, const std::vector<StepIndex>& path, const std::vector<std::int64_t>& times)
      : steps_(steps), place_(steps.size(), not_in_chain) {
    for (std::size_t i = 0; i < path.size(); ++i) {
      if (steps.kind(path[i]) != StepKind::collective) continue;
      const bool awaited = i + 1 == path.size() || steps.kind(path[i + 1]) == StepKind::wait;
      if (!awaited) continue;
      place_[path[i]] = static_cast<std::uint32_t>(times_.size());
      times_.push_back(times[path[i]]);
    }
  }

  const std::vector<std::int64_t>& times() const { return times_; }

  // Between two collectives of the chain stands the issue of the later one: a step covers one of them at most.
  std::vector<Beside> steps_beside() const {
    const RangeMaximum longest(times_);
    const auto order = steps_.original_order();
    std::vector<std::uint32_t> first(steps_.size(), 0), end(steps_.size(), static_cast<std::uint32_t>(times_.size()));
    for (const StepIndex step : order) {
      for (const StepIndex earlier : steps_.before(step)) first[step] = std::max(first[step], first[earlier]);
      if (steps_.kind(step) != StepKind::wait) continue;
      const std::uint32_t place = place_[steps_.awaited(step)];
      if (place != not_in_chain) first[step] = std::max(first[step], place + 1);
    }
    std::vector<Beside> list;
    for (std::size_t p = order.size(); p-- > 0;) {
      const StepIndex step = order[p];
      for (const StepIndex later : steps_.after(step))
        end[step] = std::min({end[step], end[later], place_[later]});  // what is not in the chain is the largest
      const std::int64_t time = steps_.time_on_compute(step).picoseconds;
      if (time > 0 && first[step] < end[step])
        list.push_back({first[step], end[step], std::min(time, longest.of(first[step], end[step]))});
    }
    return list;
  }

 private:
  const StepGraph& steps_;
  std::vector<std::uint32_t> place_;  // by step: in the chain
  std::vector<std::int64_t> times_;   // of the chain's collectives
};

// The most that can be covered if steps may be interrupted: each collective takes what can't wait for later ones first.
std::int64_t most_covered(const std::vector<std::int64_t>& times, std::vector<Beside> list) {
  std::sort(list.begin(), list.end(), [](const Beside& a, const Beside& b) { return a.first < b.first; });
  using Open = std::pair<std::uint32_t, std::int64_t>;  // until when, time left
  std::priority_queue<Open, std::vector<Open>, std::greater<>> open;
  std::int64_t covered = 0;
  std::size_t next = 0;
  for (std::uint32_t k = 0; k < times.size(); ++k) {
    for (; next < list.size() && list[next].first <= k; ++next) open.emplace(list[next].end, list[next].time);
    std::int64_t left = times[k];
    while (left > 0 && !open.empty()) {
      auto [end, time] = open.top();
      open.pop();
      if (end <= k) continue;
      const std::int64_t taken = std::min(left, time);
      covered += taken;
      left -= taken;
      if (taken < time) open.emplace(end, time - taken);
    }
  }
  return covered;
}

}  // namespace

std::int64_t serial_bound(const StepGraph& steps, const std::vector<StepIndex>& path,
                          const std::vector<std::int64_t>& times) {
  const Chain chain(steps, path, times);
  std::int64_t total = 0;
  for (StepIndex step = 0; step < steps.size(); ++step) total += steps.time_on_compute(step).picoseconds;
  for (const std::int64_t time : chain.times()) total += time;
  return total - most_covered(chain.times(), chain.steps_beside());
}

}  // namespace hocket
