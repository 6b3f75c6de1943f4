#include "hocket/schedule/timeline.h"
#include "report/timeline_maker.h"

namespace hocket {

namespace {

StepMoments moments_of(const StepGraph& steps, std::span<const StepIndex> order, Timeline line) {
  StepMoments moments;
  moments.total = line.step_time;
  moments.issued.resize(steps.size());
  Nanoseconds now;
  for (const StepIndex step : order) {
    moments.issued[step] = now;
    if (steps.kind(step) == StepKind::collective) line.stood[step] = {};  // it counts at its waits
    else now = line.end[step];
  }
  moments.begin = std::move(line.begin);
  moments.end = std::move(line.end);
  moments.stood = std::move(line.stood);
  return moments;
}

}  // namespace

Result<ShownTimeline> estimated_timeline(const Subject& subject, const CostModel& cost,
                                         const TimelineOptions& options) {
  HOCKET_TRY(const StepGraph steps,
             std::visit([&](const auto& form) { return StepGraph::of(form, cost.times(form)); }, subject));
  const auto order = steps.original_order();
  return make_timeline(subject, steps, order, moments_of(steps, order, timeline(steps, order)), options);
}

}  // namespace hocket
