#include "hocket/schedule/timeline.h"

#include <algorithm>

#include "schedule/held_memory.h"

namespace hocket {

Timeline timeline(const StepGraph& steps, std::span<const StepIndex> order) {
  Timeline line;
  line.begin.resize(steps.size());
  line.end.resize(steps.size());
  line.stood.resize(steps.size());
  std::vector<Nanoseconds> lane_free(steps.lanes());
  Nanoseconds now;
  for (const StepIndex step : order) {
    if (steps.kind(step) == StepKind::collective) {
      Nanoseconds& free = lane_free[steps.lane(step)];
      line.begin[step] = std::max(now, free);
      line.end[step] = free = line.begin[step] + steps.time(step);
      continue;
    }
    if (steps.kind(step) == StepKind::wait) {
      const StepIndex collective = steps.awaited(step);
      const Nanoseconds stood = std::max(Nanoseconds(), line.end[collective] - now);
      line.stood[step] = stood;
      line.stood[collective] += stood;
      line.exposed += stood;
      now += stood;
    }
    line.begin[step] = now;
    now += steps.time(step);
    line.compute += steps.time(step);
    line.end[step] = now;
  }
  line.step_time = now;
  for (const Nanoseconds free : lane_free) line.step_time = std::max(line.step_time, free);
  line.exposed += line.step_time - now;
  return line;
}

MemoryCurve memory_curve(const StepGraph& steps, std::span<const StepIndex> order) {
  MemoryCurve curve;
  curve.live.resize(order.size());
  std::vector<std::uint32_t> left(steps.buffers().size());  // touches that are still to come
  for (std::size_t b = 0; b < left.size(); ++b) {
    left[b] = static_cast<std::uint32_t>(steps.touched_by(static_cast<std::uint32_t>(b)).size());
  }
  Bytes now = steps.input_bytes();
  curve.peak = now;
  for (std::size_t position = 0; position < order.size(); ++position) {
    const auto still = [&](std::uint32_t buffer) -> std::uint32_t& { return left[buffer]; };
    const Bytes live = curve.live[position] = run_step(steps, order[position], now, still);
    if (live > curve.peak) {
      curve.peak = live;
      curve.peak_at = position;
    }
  }
  return curve;
}

TimeBound time_bound(const StepGraph& steps) {
  TimeBound bound;
  std::vector<Nanoseconds> lanes(steps.lanes());
  std::vector<Nanoseconds> finish(steps.size());
  // Only its wait and its lane need a collective to have ended; for all others it is enough that it was issued.
  const auto reached = [&](StepIndex earlier, StepIndex step) {
    const bool ended = steps.kind(earlier) != StepKind::collective || steps.kind(step) == StepKind::wait ||
                       (steps.kind(step) == StepKind::collective && steps.lane(step) == steps.lane(earlier));
    return ended ? finish[earlier] : finish[earlier] - steps.time(earlier);
  };
  for (StepIndex step = 0; step < steps.size(); ++step) {
    if (steps.kind(step) == StepKind::collective) lanes[steps.lane(step)] += steps.time(step);
    else bound.compute += steps.time(step);
    for (const StepIndex earlier : steps.before(step)) finish[step] = std::max(finish[step], reached(earlier, step));
    finish[step] += steps.time(step);
    bound.critical_path = std::max(bound.critical_path, finish[step]);
  }
  for (const Nanoseconds lane : lanes) bound.busiest_lane = std::max(bound.busiest_lane, lane);
  return bound;
}

}  // namespace hocket
