#include "schedule/unit_events.h"

namespace hocket::overlap {

namespace {

// The buckets that were made together with an order: which member is issued last, for all, and how long they take.
struct MadeBuckets {
  MadeBuckets(const UnitGraph& units, const MadeOrder& made) : last(units.size(), no_unit), comm(units.size(), 0) {
    for (UnitIndex u = 0; u < units.size(); ++u) {
      last[u] = u;
      comm[u] = units.unit(u).comm;
    }
    for (const auto& bucket : made.buckets) {
      Size moved = 0;
      for (const UnitIndex u : bucket) {
        moved += units.unit(u).moved;
        last[u] = bucket.back();
      }
      comm[bucket.back()] = units.merged_time(units.unit(bucket[0]).merge_class, moved);
    }
  }
  std::vector<UnitIndex> last;  // by unit; a unit that is in no bucket is its own
  std::vector<Time> comm;       // by unit, of those that are last
};

Nanoseconds compute_time(const StepGraph& steps, const UnitGraph& units, UnitIndex u, Nanoseconds launch) {
  Nanoseconds time;
  for (const StepIndex step : units.steps_of(u)) {
    if (steps.kind(step) != StepKind::collective && steps.time(step).picoseconds > 0) time += steps.time(step) + launch;
  }
  return time;
}

}  // namespace

std::vector<LaneEvent> events_of(const StepGraph& steps, const UnitGraph& units, const MadeOrder& made,
                                 Nanoseconds launch) {
  const MadeBuckets buckets(units, made);
  std::vector<LaneEvent> events;
  for (const UnitIndex u : made.order) {
    const Unit& unit = units.unit(u);
    if (unit.kind == StepKind::wait) events.push_back({LaneEvent::Kind::wait, 0, buckets.last[unit.partner], {}});
    const bool issues = unit.kind == StepKind::collective && buckets.last[u] == u;
    Nanoseconds time = compute_time(steps, units, u, launch);
    if (issues) time += launch;
    if (time.picoseconds > 0) events.push_back({LaneEvent::Kind::compute, 0, 0, time});
    if (issues)
      events.push_back({LaneEvent::Kind::issue, unit.lane, u, Nanoseconds::from_picoseconds(buckets.comm[u])});
  }
  return events;
}

}  // namespace hocket::overlap
