#include "schedule/stalls.h"

#include <algorithm>

namespace hocket::overlap {

namespace {

constexpr std::size_t longest_queue = 64;  // that is looked at

StepIndex first_collective(const StepGraph& steps, std::span<const StepIndex> unit) {
  const auto found =
      std::find_if(unit.begin(), unit.end(), [&](StepIndex step) { return steps.kind(step) == StepKind::collective; });
  return found == unit.end() ? no_step : *found;
}

}  // namespace

std::vector<Stall> stalls_of(const StepGraph& steps, const UnitGraph& units, const MadeOrder& made) {
  std::vector<Stall> stalls;
  const auto note = [&](UnitIndex collective, Time time) {
    if (const StepIndex step = first_collective(steps, units.steps_of(collective)); step != no_step)
      stalls.push_back({step, time});
  };
  std::vector<UnitIndex> last(units.lanes(), no_unit);          // on each lane
  std::vector<UnitIndex> queued_behind(units.size(), no_unit);  // who kept the lane busy when it was issued
  std::vector<UnitIndex> queue;
  Time reached = 0;  // by the compute lane
  for (const UnitIndex u : made.order) {
    const Unit& unit = units.unit(u);
    if (unit.kind == StepKind::collective) {
      UnitIndex& before = last[unit.lane];
      const bool queued = before != no_unit && made.end[before] > made.begin[u] + unit.compute;
      const bool same_bucket = queued && made.end[before] == made.end[u];
      if (queued) queued_behind[u] = same_bucket ? queued_behind[before] : before;
      before = u;
    } else if (unit.kind == StepKind::wait && made.begin[u] > reached) {
      const Time stood = made.begin[u] - reached;
      note(unit.partner, stood);
      queue.clear();
      for (UnitIndex v = queued_behind[unit.partner]; v != no_unit && queue.size() < longest_queue;
           v = queued_behind[v])
        queue.push_back(v);
      for (const UnitIndex v : queue) note(v, std::max<Time>(1, stood / static_cast<Time>(queue.size())));
    }
    reached = std::max(reached, made.begin[u] + unit.compute);
  }
  return stalls;
}

}  // namespace hocket::overlap
