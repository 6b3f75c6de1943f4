#include "report/timeline_maker.h"

namespace hocket {

namespace {

// What every step took, as the scheduler would want to know it: of a collective until it was complete.
std::vector<Nanoseconds> times_of(const RunRecord& run) {
  std::vector<Nanoseconds> times;
  times.reserve(run.steps.size());
  for (const StepRecord& step : run.steps) times.push_back(step.complete - step.start);
  return times;
}

StepMoments moments_of(const StepGraph& steps, const RunRecord& run) {
  StepMoments moments;
  moments.total = run.total;
  for (StepIndex step = 0; step < steps.size(); ++step) {
    const StepRecord& record = run.steps[step];
    const StepKind kind = steps.kind(step);
    moments.issued.push_back(record.start);
    moments.begin.push_back(kind == StepKind::wait ? record.end : record.start);
    moments.end.push_back(kind == StepKind::collective ? record.complete : record.end);
    const bool holds = kind == StepKind::wait || kind == StepKind::collective;
    moments.stood.push_back(holds ? record.end - record.start : Nanoseconds());
    // A collective may be complete when nobody has looked yet; the run is over all the same.
    if (kind == StepKind::collective) moments.end.back() = std::max(record.end, std::min(record.complete, run.total));
  }
  return moments;
}

}  // namespace

Result<ShownTimeline> measured_timeline(const Program& program, const RunRecord& run, const TimelineOptions& options) {
  if (run.steps.size() != program.size()) {
    return fail(ErrorKind::usage,
                "the record is of {} steps, the program {} has {}; was it run with ExecutorOptions::record, and is it "
                "the one that ran?",
                run.steps.size(), program.name(), program.size());
  }
  HOCKET_TRY(const StepGraph steps, StepGraph::of(program, times_of(run)));
  return make_timeline(program, steps, steps.original_order(), moments_of(steps, run), options);
}

}  // namespace hocket
