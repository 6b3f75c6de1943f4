// Puts a timeline together from steps and the moments at which they run, wherever those come from.
#pragma once

#include <span>
#include <vector>

#include "hocket/report/report.h"
#include "hocket/schedule/step_graph.h"

namespace hocket {

// By step. Moments of steps that are not shown don't matter.
struct StepMoments {
  std::vector<Nanoseconds> begin, end;  // of a collective: on its own lane
  std::vector<Nanoseconds> issued;      // when lane 0 reaches it
  std::vector<Nanoseconds> stood;       // as ShownSpan::stood
  Nanoseconds total;                    // until the last lane is done
};

// `form` is what the steps were made from.
ShownTimeline make_timeline(const Subject& form, const StepGraph& steps, std::span<const StepIndex> order,
                            const StepMoments& moments, const TimelineOptions& options);

}  // namespace hocket
