#include "hocket/compile/compile.h"
#include "hocket/schedule/carry_over.h"
#include "hocket/schedule/timeline.h"

namespace hocket {

Result<Measures> measure(const Subject& subject, const CostModel& cost) {
  return std::visit(
      [&](const auto& form) -> Result<Measures> {
        const auto times = cost.times(form);
        HOCKET_TRY(const StepGraph steps, StepGraph::of(form, times));
        const auto order = steps.original_order();
        const Timeline line = timeline(steps, order);
        Measures measures;
        measures.step_time = line.step_time;
        measures.period = line.step_time;
        if constexpr (std::is_same_v<std::decay_t<decltype(form)>, Program>) measures.period = period_of(form, times);
        measures.exposed = line.exposed;
        measures.compute = line.compute;
        for (const StepIndex collective : steps.collectives()) measures.communication += steps.time(collective);
        measures.lower_bound = time_bound(steps).best();
        measures.peak = memory_curve(steps, order).peak;
        measures.steps = steps.size();
        measures.collectives = steps.collectives().size();
        return measures;
      },
      subject);
}

}  // namespace hocket
