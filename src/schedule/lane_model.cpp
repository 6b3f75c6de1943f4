#include "hocket/schedule/lane_model.h"

#include <algorithm>
#include <cmath>
#include <deque>
#include <limits>

namespace hocket {

namespace {

// Time in picoseconds; work too: what a collective would take alone.
class LaneRun {
 public:
  LaneRun(std::size_t lanes, const LaneModel& model) : model_(model), queues_(lanes), links_(model.links) {
    number_links();
    auto next = static_cast<std::uint32_t>(users_.size());
    while (links_.size() < lanes) links_.push_back({next++});
    users_.assign(next, 0);
  }

  void compute(Nanoseconds time) {
    auto left = static_cast<double>(time.picoseconds);
    while (left > 0) {
      const double slowdown = under_way() ? model_.compute_slowdown : 1;
      const double step = std::min(left * slowdown, until_next_end());
      advance(step);
      left -= step / slowdown;
      if (left < half_picosecond) break;
    }
  }
  void issue(std::uint32_t lane, std::uint32_t collective, Nanoseconds time) {
    if (collective >= done_.size()) done_.resize(collective + 1, false);
    queues_[lane].push_back({collective, static_cast<double>(time.picoseconds)});
    drop_ended();
  }
  void wait(std::uint32_t collective) {
    while (!done_[collective]) advance(until_next_end());
  }
  Nanoseconds finish() {
    while (under_way()) advance(until_next_end());
    return Nanoseconds::from_picoseconds(std::llround(now_));
  }

 private:
  static constexpr double half_picosecond = 0.5;
  struct Flight {
    std::uint32_t collective;
    double left;
  };

  // Links are called by any numbers; here by 0, 1, ….
  void number_links() {
    std::vector<std::uint32_t> known;
    for (const auto& links : links_) known.insert(known.end(), links.begin(), links.end());
    std::sort(known.begin(), known.end());
    known.erase(std::unique(known.begin(), known.end()), known.end());
    for (auto& links : links_) {
      for (std::uint32_t& link : links) {
        link = static_cast<std::uint32_t>(std::lower_bound(known.begin(), known.end(), link) - known.begin());
      }
    }
    users_.resize(known.size());
  }

  bool under_way() const {
    return std::any_of(queues_.begin(), queues_.end(), [](const auto& queue) { return !queue.empty(); });
  }
  // How much slower than alone the first of a lane goes: as its busiest link lets it.
  double sharing(std::size_t lane) const {
    std::uint32_t most = 1;
    for (const std::uint32_t link : links_[lane]) most = std::max(most, users_[link]);
    return most;
  }
  void count_users() {
    std::fill(users_.begin(), users_.end(), 0U);
    for (std::size_t lane = 0; lane < queues_.size(); ++lane) {
      if (queues_[lane].empty()) continue;
      for (const std::uint32_t link : links_[lane]) ++users_[link];
    }
  }
  double until_next_end() const {
    double next = std::numeric_limits<double>::infinity();
    for (std::size_t lane = 0; lane < queues_.size(); ++lane) {
      if (!queues_[lane].empty()) next = std::min(next, queues_[lane].front().left * sharing(lane));
    }
    return next;
  }
  void advance(double time) {
    for (std::size_t lane = 0; lane < queues_.size(); ++lane) {
      if (!queues_[lane].empty()) queues_[lane].front().left -= time / sharing(lane);
    }
    now_ += time;
    drop_ended();
  }
  void drop_ended() {
    for (auto& queue : queues_) {
      while (!queue.empty() && queue.front().left < half_picosecond) {
        done_[queue.front().collective] = true;
        queue.pop_front();
      }
    }
    count_users();
  }

  const LaneModel& model_;
  std::vector<std::deque<Flight>> queues_;  // by lane
  std::vector<std::vector<std::uint32_t>> links_;
  std::vector<std::uint32_t> users_;  // by link: lanes with something under way
  std::vector<bool> done_;            // by collective
  double now_ = 0;
};

}  // namespace

Nanoseconds run_lanes(std::span<const LaneEvent> events, std::size_t lanes, const LaneModel& model) {
  LaneRun run(lanes, model);
  for (const LaneEvent& event : events) {
    switch (event.kind) {
      case LaneEvent::Kind::compute: run.compute(event.time); break;
      case LaneEvent::Kind::issue: run.issue(event.lane, event.collective, event.time); break;
      case LaneEvent::Kind::wait: run.wait(event.collective); break;
    }
  }
  return run.finish();
}

Nanoseconds modelled_step_time(const StepGraph& steps, std::span<const StepIndex> order, const LaneModel& model) {
  std::vector<LaneEvent> events;
  for (const StepIndex step : order) {
    const Nanoseconds time = steps.time(step);
    const Nanoseconds launch = time.picoseconds > 0 ? model.launch : Nanoseconds();
    if (steps.kind(step) == StepKind::collective) {
      if (launch.picoseconds > 0) events.push_back({LaneEvent::Kind::compute, 0, 0, launch});
      events.push_back({LaneEvent::Kind::issue, steps.lane(step), step, time});
    } else if (steps.kind(step) == StepKind::wait) {
      events.push_back({LaneEvent::Kind::wait, 0, steps.awaited(step), {}});
    } else if (time.picoseconds > 0) {
      events.push_back({LaneEvent::Kind::compute, 0, 0, time + launch});
    }
  }
  return run_lanes(events, steps.lanes(), model);
}

}  // namespace hocket
