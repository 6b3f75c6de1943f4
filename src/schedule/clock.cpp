#include "schedule/clock.h"

#include <algorithm>

namespace hocket {

Clock::Clock(const StepGraph& steps)
    : steps_(steps),
      reached_(steps.size() + 1),
      sum_(steps.size() + 1),
      end_(steps.size()),
      free_before_(steps.size()),
      previous_(steps.size(), no_step),
      lane_free_(steps.lanes()),
      lane_last_(steps.lanes(), no_step),
      waits_begin_(steps.size() + 1) {
  for (StepIndex step = 0; step < steps.size(); ++step) {
    if (steps.kind(step) == StepKind::wait) ++waits_begin_[steps.awaited(step) + 1];
  }
  for (std::size_t i = 0; i < steps.size(); ++i) waits_begin_[i + 1] += waits_begin_[i];
  waits_.resize(waits_begin_.back());
  std::vector<std::uint32_t> next(waits_begin_.begin(), waits_begin_.end() - 1);
  for (StepIndex step = 0; step < steps.size(); ++step) {
    if (steps.kind(step) == StepKind::wait) waits_[next[steps.awaited(step)]++] = step;
  }
}

std::size_t Clock::wait_position(const Schedule& schedule, StepIndex collective) const {
  std::size_t first = steps_.size();
  for (std::uint32_t i = waits_begin_[collective]; i < waits_begin_[collective + 1]; ++i) {
    first = std::min(first, schedule.position(waits_[i]));
  }
  return first;
}

void Clock::advance(const Schedule& schedule, std::size_t positions) {
  const auto order = schedule.order();
  if (!summed_) {
    for (std::size_t p = 0; p < order.size(); ++p) sum_[p + 1] = sum_[p] + steps_.time_on_compute(order[p]);
    summed_ = true;
  }
  for (; known_ < positions; ++known_) {
    const StepIndex step = order[known_];
    Nanoseconds now = reached_[known_];
    if (steps_.kind(step) == StepKind::collective) {
      Nanoseconds& free = lane_free_[steps_.lane(step)];
      free_before_[step] = free;
      previous_[step] = lane_last_[steps_.lane(step)];
      lane_last_[steps_.lane(step)] = step;
      end_[step] = free = std::max(now, free) + steps_.time(step);
    } else if (steps_.kind(step) == StepKind::wait) {
      now = std::max(now, end_[steps_.awaited(step)]);
    }
    sum_[known_ + 1] = sum_[known_] + steps_.time_on_compute(step);
    reached_[known_ + 1] = now + steps_.time_on_compute(step);
  }
}

void Clock::retreat(const Schedule& schedule, std::size_t position) {
  for (; known_ > position; --known_) {
    const StepIndex step = schedule.order()[known_ - 1];
    if (steps_.kind(step) != StepKind::collective) continue;
    lane_free_[steps_.lane(step)] = free_before_[step];
    lane_last_[steps_.lane(step)] = previous_[step];
  }
}

}  // namespace hocket
