#include <algorithm>

#include "report/timeline_maker.h"

namespace hocket {

namespace {

// Collectives of one group run one after the other: one that was issued while another was under way began when that was complete.
StepMoments moments_of(const StepGraph& steps, const RunRecord& run) {
  StepMoments moments;
  moments.total = run.total;
  std::vector<Nanoseconds> lane_free(steps.lanes());
  for (StepIndex step = 0; step < steps.size(); ++step) {
    const StepRecord& record = run.steps[step];
    Nanoseconds begin = record.start, end = record.end, stood;
    if (steps.kind(step) == StepKind::wait) {
      begin = record.end;
      stood = record.end - record.start;
    } else if (steps.kind(step) == StepKind::collective) {
      Nanoseconds& free = lane_free[steps.lane(step)];
      // It may be complete when nobody has looked yet; the run is over all the same.
      end = std::max(record.end, std::min(record.complete, run.total));
      begin = std::min(std::max(begin, free), end);
      free = end;
      stood = record.end - record.start;
    }
    moments.issued.push_back(record.start);
    moments.begin.push_back(begin);
    moments.end.push_back(end);
    moments.stood.push_back(stood);
  }
  return moments;
}

// What every step took, as the scheduler would want to know it.
std::vector<Nanoseconds> times_of(const StepMoments& moments) {
  std::vector<Nanoseconds> times;
  for (std::size_t i = 0; i < moments.begin.size(); ++i) times.push_back(moments.end[i] - moments.begin[i]);
  return times;
}

}  // namespace

Result<ShownTimeline> measured_timeline(const Program& program, const RunRecord& run, const TimelineOptions& options) {
  if (run.steps.size() != program.size()) {
    return fail(ErrorKind::usage,
                "the record is of {} steps, the program {} has {}; was it run with ExecutorOptions::record, and is it "
                "the one that ran?",
                run.steps.size(), program.name(), program.size());
  }
  HOCKET_TRY(const StepGraph untimed, StepGraph::of(program, std::vector<Nanoseconds>(program.size())));
  const StepMoments moments = moments_of(untimed, run);
  HOCKET_TRY(const StepGraph steps, StepGraph::of(program, times_of(moments)));
  return make_timeline(program, steps, steps.original_order(), moments, options);
}

}  // namespace hocket
