#include "schedule/urgency.h"

#include <algorithm>
#include <limits>

#include "schedule/heap.h"

namespace hocket::overlap {

std::vector<Time> bucket_times(const UnitGraph& units, const std::vector<Size>& bucket) {
  std::vector<Time> times(bucket.size(), 0);
  for (std::uint32_t c = 0; c < bucket.size(); ++c) {
    if (bucket[c] > 0) times[c] = units.merged_time(c, bucket[c]);
  }
  return times;
}

std::vector<Time> comm_times(const UnitGraph& units, const std::vector<Size>& bucket) {
  std::vector<Time> times(units.size(), 0);
  const std::vector<Time> of_bucket = bucket_times(units, bucket);
  for (UnitIndex u = 0; u < units.size(); ++u) {
    const Unit& unit = units.unit(u);
    times[u] = unit.comm;
    if (unit.kind != StepKind::collective || unit.merge_class == no_class || unit.merge_class >= bucket.size())
      continue;
    const Size size = bucket[unit.merge_class];
    if (unit.moved >= size) continue;
    const auto share = static_cast<double>(unit.moved) / static_cast<double>(size);
    times[u] = std::min(unit.comm, static_cast<Time>(static_cast<double>(of_bucket[unit.merge_class]) * share));
  }
  return times;
}

std::vector<Time> latest_starts(const UnitGraph& units, const std::vector<UnitIndex>& order,
                                const std::vector<Time>& comm, bool with_lanes) {
  std::vector<Time> latest(units.size(), 0);
  std::vector<Time> lane_free(units.lanes(), 0);
  Time compute_free = 0;
  for (std::size_t p = order.size(); p-- > 0;) {
    const UnitIndex u = order[p];
    const Unit& unit = units.unit(u);
    Time end = 0;
    Time arrival = 0;
    for (const UnitIndex later : units.after(u)) {
      const bool awaits = units.unit(later).kind == StepKind::wait && units.unit(later).partner == u;
      if (awaits) arrival = std::min(arrival, latest[later]);
      else end = std::min(end, latest[later]);
    }
    if (unit.kind == StepKind::collective) {
      Time begin = arrival - comm[u];
      if (with_lanes) {
        begin = std::min(arrival, lane_free[unit.lane]) - comm[u];
        lane_free[unit.lane] = begin;
      }
      latest[u] = std::min(begin, end) - unit.compute;
    } else {
      if (with_lanes) end = std::min(end, compute_free);
      latest[u] = end - unit.compute;
      if (with_lanes) compute_free = latest[u];
    }
  }
  return latest;
}

namespace {

// When the compute lane would reach each unit if it stood still less by this share. Answers the end of the step then.
Time squeezed(const UnitGraph& units, const MadeOrder& made, double share, std::vector<Time>& begin) {
  const auto part = [share](Time time) { return static_cast<Time>(share * static_cast<double>(time)); };
  Time stood = 0;
  Time reached = 0;
  for (const UnitIndex u : made.order) {
    stood += std::max<Time>(0, made.begin[u] - reached);
    begin[u] = made.begin[u] - part(stood);
    reached = std::max(reached, made.begin[u] + units.unit(u).compute);
  }
  return made.time - part(stood + made.time - reached);
}

}  // namespace

std::vector<Time> pulled_starts(const UnitGraph& units, const MadeOrder& made, const std::vector<Time>& comm,
                                double share) {
  std::vector<Time> starts(units.size(), 0);
  const Time last = squeezed(units, made, share, starts);
  std::vector<Time> lane_free(units.lanes(), last);
  for (std::size_t p = made.order.size(); p-- > 0;) {
    const UnitIndex u = made.order[p];
    const Unit& unit = units.unit(u);
    Time end = last;
    Time arrival = last;
    for (const UnitIndex later : units.after(u)) {
      const bool awaits = units.unit(later).kind == StepKind::wait && units.unit(later).partner == u;
      (awaits ? arrival : end) = std::min(awaits ? arrival : end, starts[later]);
    }
    if (unit.kind == StepKind::collective) {
      Time& free = lane_free[unit.lane];
      free = std::min(arrival, free) - comm[u];
      end = std::min(end, free);
    }
    starts[u] = std::min(starts[u], end - unit.compute);
  }
  return starts;
}

// Time runs backwards here: a wait starts its collective, which arrives where it is issued.
std::vector<Time> backward_starts(const UnitGraph& units, const std::vector<Time>& began,
                                  const std::vector<Time>& comm) {
  struct Entry {
    Time key;
    UnitIndex unit;
    bool operator>(const Entry& other) const { return key != other.key ? key > other.key : unit > other.unit; }
  };
  const std::size_t n = units.size();
  std::vector<Time> starts(n, 0), arrives(n, 0), lane_free(units.lanes(), 0);
  std::vector<std::uint32_t> missing(n);
  std::vector<Entry> compute, arriving;
  std::vector<std::vector<Entry>> starting(units.lanes());
  Time now = 0;
  std::size_t done = 0;
  const auto ready = [&](UnitIndex u) {
    const Unit& unit = units.unit(u);
    // A collective is ready once its waits have been started in this direction.
    if (unit.kind == StepKind::collective) push(arriving, Entry{arrives[u], u});
    else if (unit.kind == StepKind::wait) push(starting[units.unit(unit.partner).lane], Entry{-began[u], u});
    else push(compute, Entry{-began[u], u});
  };
  const auto finish = [&](UnitIndex u) {
    ++done;
    starts[u] = -now;
    for (const UnitIndex earlier : units.before(u)) {
      if (--missing[earlier] == 0) ready(earlier);
    }
  };
  for (UnitIndex u = 0; u < n; ++u) missing[u] = static_cast<std::uint32_t>(units.after(u).size());
  for (UnitIndex u = 0; u < n; ++u) {
    if (missing[u] == 0) {
      if (units.unit(u).kind == StepKind::collective) arrives[u] = lane_free[units.unit(u).lane] += comm[u];
      ready(u);
    }
  }
  while (done < n) {
    bool any = false;
    while (!arriving.empty() && arriving.front().key <= now) {
      const UnitIndex u = pop(arriving).unit;
      now += units.unit(u).compute;
      finish(u);
      any = true;
    }
    const Time until = compute.empty() ? (arriving.empty() ? std::numeric_limits<Time>::max() : arriving.front().key)
                                       : now + units.unit(compute.front().unit).compute;
    for (std::uint32_t lane = 0; lane < units.lanes(); ++lane) {
      while (!starting[lane].empty() && lane_free[lane] <= until) {
        const UnitIndex wait = pop(starting[lane]).unit;
        const UnitIndex collective = units.unit(wait).partner;
        arrives[collective] = std::max(now, lane_free[lane]) + comm[collective];
        lane_free[lane] = arrives[collective];
        finish(wait);
        any = true;
      }
    }
    if (any) continue;
    if (!compute.empty()) {
      const UnitIndex u = pop(compute).unit;
      now += units.unit(u).compute;
      finish(u);
    } else {
      now = std::max(now, arriving.front().key);
    }
  }
  return starts;
}

}  // namespace hocket::overlap
