#include "report/timeline_maker.h"

namespace hocket {

Result<ShownTimeline> simulated_timeline(const Subject& subject, const SimProgram& program, const SimResult& result,
                                         const TimelineOptions& options) {
  HOCKET_TRY(const StepGraph steps,
             std::visit([&](const auto& form) { return StepGraph::of(form, program.times); }, subject));
  if (steps.size() != result.shown.begin.size()) {
    return fail(ErrorKind::usage, "the simulation is of {} steps, {} has {}", result.shown.begin.size(), program.name,
                steps.size());
  }
  const StepMoments moments{.begin = result.shown.begin,
                            .end = result.shown.end,
                            .issued = result.shown.issued,
                            .stood = result.shown.stood,
                            .total = result.step_time};
  ShownTimeline line = make_timeline(subject, steps, steps.original_order(), moments, options);
  // The groups as they are here: scaled ones have other sizes than the program's.
  for (std::size_t lane = 0; lane < program.lanes.size(); ++lane)
    line.lanes[lane + 1] = fmt::format("{} ({} ranks)", program.lanes[lane].name, program.lanes[lane].ranks.size());
  return line;
}

}  // namespace hocket
