#include "schedule/unit_graph.h"

#include <algorithm>
#include <numeric>

#include "schedule/number_queue.h"

namespace hocket::overlap {

namespace {

// A step that is this much shorter than the collective it leads to is light: it runs right before the collective.
constexpr Time light_share = 4;

bool is_collective(const StepGraph& steps, StepIndex step) { return steps.kind(step) == StepKind::collective; }

bool holds(const StepGraph& steps, StepIndex step) {
  const auto touches = steps.touches(step);
  return std::any_of(touches.begin(), touches.end(),
                     [&](std::uint32_t buffer) { return steps.buffers()[buffer].bytes.count > 0; });
}

bool touches_no_more(const StepGraph& steps, StepIndex step, StepIndex than) {
  const auto own = steps.touches(step);
  const auto other = steps.touches(than);
  return std::includes(other.begin(), other.end(), own.begin(), own.end());
}

class Grouper {
 public:
  Grouper(const StepGraph& steps) : steps_(steps), group_(steps.size(), no_unit), leader_(steps.size()) {}

  void run(UnitGraph::Grouping& grouping) {
    join_views(grouping);
    join_feeders();
    number(grouping);
  }

 private:
  // The leader of what a step belongs to.
  StepIndex find(StepIndex step) {
    while (leader_[step] != step) step = leader_[step] = leader_[leader_[step]];
    return step;
  }

  void join_views(UnitGraph::Grouping& grouping) {
    front_.assign(steps_.size(), false);
    for (StepIndex step = 0; step < steps_.size(); ++step) {
      leader_[step] = step;
      if (steps_.kind(step) != StepKind::compute || steps_.time(step).picoseconds != 0) continue;
      StepIndex only = no_step;
      bool several = false;
      StepIndex nearest = no_step;
      for (const StepIndex earlier : steps_.before(step)) {
        if (steps_.kind(earlier) == StepKind::fixed || front_[earlier]) continue;
        const StepIndex leader = find(earlier);
        if (only != no_step && only != leader) several = true;
        only = leader;
        nearest = earlier;
      }
      if (several) continue;
      if (only == no_step) {
        if (holds(steps_, step)) continue;
        front_[step] = true;
        grouping.front.push_back(step);
      } else if (touches_no_more(steps_, step, nearest) || touches_no_more(steps_, step, only)) {
        leader_[step] = only;
      }
    }
  }

  // From the back: a group all of whose users are in one collective's group joins it.
  void join_feeders() {
    std::vector<StepIndex> user(steps_.size(), no_step);  // by leader: the one group that uses it
    std::vector<bool> heavy(steps_.size(), false), shared(steps_.size(), false), collective(steps_.size(), false);
    std::vector<Time> time(steps_.size(), 0), comm(steps_.size(), 0);
    for (StepIndex step = 0; step < steps_.size(); ++step) {
      const StepIndex leader = find(step);
      if (is_collective(steps_, step)) {
        collective[leader] = true;
        comm[leader] = steps_.time(step).picoseconds;
      } else {
        time[leader] += steps_.time(step).picoseconds;
      }
      if (steps_.kind(step) == StepKind::wait || steps_.kind(step) == StepKind::fixed || steps_.gemm(step))
        heavy[leader] = true;
      if (is_collective(steps_, step)) heavy[leader] = true;
    }
    std::vector<std::vector<StepIndex>> members(steps_.size());
    for (StepIndex step = 0; step < steps_.size(); ++step) {
      if (!front_[step]) members[find(step)].push_back(step);
    }
    for (StepIndex leader = static_cast<StepIndex>(steps_.size()); leader-- > 0;) {
      if (members[leader].empty() || heavy[leader]) continue;
      StepIndex only = no_step;
      bool several = false;
      for (const StepIndex member : members[leader]) {
        for (const StepIndex later : steps_.after(member)) {
          const StepIndex by = find(later);
          if (by == leader) continue;
          if (only != no_step && only != by) several = true;
          only = by;
        }
      }
      if (several || only == no_step || !collective[only]) continue;
      if (time[only] + time[leader] > comm[only] / light_share) continue;
      leader_[leader] = only;
      time[only] += time[leader];
      // Its members stay where they are listed: users of theirs are in the collective's group from now on.
    }
  }

  void number(UnitGraph::Grouping& grouping) {
    grouping.group_of.assign(steps_.size(), no_unit);
    for (StepIndex step = 0; step < steps_.size(); ++step) {
      if (front_[step] || steps_.kind(step) == StepKind::fixed) continue;
      const StepIndex leader = find(step);
      if (group_[leader] == no_unit) group_[leader] = static_cast<std::uint32_t>(grouping.groups++);
      grouping.group_of[step] = group_[leader];
    }
  }

  const StepGraph& steps_;
  std::vector<std::uint32_t> group_;
  std::vector<StepIndex> leader_;
  std::vector<bool> front_;
};

// Members of a bucket are awaited together, which must not wait for anything else.
bool waits_for_it_alone(const StepGraph& steps, const UnitGraph::Grouping& grouping, StepIndex collective) {
  const StepIndex wait = steps.first_wait(collective);
  if (wait == no_step) return false;
  const auto before = steps.before(wait);
  return std::all_of(before.begin(), before.end(), [&](StepIndex earlier) {
    return grouping.group_of[earlier] == no_unit || grouping.group_of[earlier] == grouping.group_of[collective];
  });
}

}  // namespace

UnitGraph::Grouping UnitGraph::grouping(const StepGraph& steps, const OverlapOptions& options) {
  Grouping grouping;
  Grouper(steps).run(grouping);
  grouping.class_of.assign(steps.size(), no_class);
  grouping.moved.assign(steps.size(), 0);
  for (const MergeCandidate& candidate : options.candidates) {
    if (!waits_for_it_alone(steps, grouping, candidate.collective)) continue;
    grouping.class_of[candidate.collective] = candidate.merge_class;
    grouping.moved[candidate.collective] = candidate.moved.count;
  }
  return grouping;
}

UnitGraph::UnitGraph(const StepGraph& steps, const Grouping& grouping, const OverlapOptions& options,
                     const Buckets& buckets)
    : steps_(steps), classes_(options.classes), front_(grouping.front) {
  make_units(grouping, buckets);
  make_edges();
  make_touches();
}

void UnitGraph::make_units(const Grouping& grouping, const Buckets& buckets) {
  // Groups that become one with others.
  std::vector<std::uint32_t> target(grouping.groups);
  std::iota(target.begin(), target.end(), 0U);
  for (const auto& bucket : buckets) {
    const auto join = [&](StepIndex first, StepIndex other) {
      target[grouping.group_of[other]] = grouping.group_of[first];
    };
    for (const StepIndex member : bucket) {
      join(bucket[0], member);
      join(steps_.first_wait(bucket[0]), steps_.first_wait(member));
    }
  }
  std::vector<std::uint32_t> number(grouping.groups, no_unit);
  unit_of_.assign(steps_.size(), no_unit);
  std::vector<std::uint32_t> count;
  for (StepIndex step = 0; step < steps_.size(); ++step) {
    if (grouping.group_of[step] == no_unit) continue;
    const std::uint32_t group = target[grouping.group_of[step]];
    if (number[group] == no_unit) {
      number[group] = static_cast<std::uint32_t>(count.size());
      count.push_back(0);
    }
    unit_of_[step] = number[group];
    ++count[number[group]];
  }
  units_.resize(count.size());
  late_.assign(steps_.size(), false);
  steps_of_.begin.assign(count.size() + 1, 0);
  std::partial_sum(count.begin(), count.end(), steps_of_.begin.begin() + 1);
  steps_of_.elements.resize(steps_of_.begin.back());
  std::vector<std::uint32_t> next(steps_of_.begin.begin(), steps_of_.begin.end() - 1);
  std::vector<std::uint32_t> collectives(count.size(), 0);
  for (StepIndex step = 0; step < steps_.size(); ++step) {
    if (unit_of_[step] == no_unit) continue;
    Unit& unit = units_[unit_of_[step]];
    steps_of_.elements[next[unit_of_[step]]++] = step;
    if (is_collective(steps_, step)) {
      unit.kind = StepKind::collective;
      unit.lane = steps_.lane(step);
      unit.merge_class = grouping.class_of[step];
      unit.moved += grouping.moved[step];
      ++collectives[unit_of_[step]];
      unit.comm = steps_.time(step).picoseconds;
    } else if (steps_.kind(step) == StepKind::wait) {
      unit.kind = StepKind::wait;
    } else {
      unit.compute += steps_.time(step).picoseconds;
    }
  }
  for (UnitIndex u = 0; u < units_.size(); ++u) {
    Unit& unit = units_[u];
    if (unit.kind == StepKind::collective) {
      unit.members = collectives[u];
      if (unit.members > 1) unit.comm = merged_time(unit.merge_class, unit.moved);
      sort_collective(u);
    }
  }
  for (StepIndex step = 0; step < steps_.size(); ++step) {
    if (steps_.kind(step) != StepKind::wait) continue;
    const UnitIndex wait = unit_of_[step];
    const UnitIndex collective = unit_of_[steps_.awaited(step)];
    units_[wait].partner = collective;
    if (units_[collective].partner == no_unit) units_[collective].partner = wait;
  }
  lanes_ = static_cast<std::uint32_t>(steps_.lanes());
  input_bytes_ = steps_.input_bytes().count;
}

// What leads to the collectives of a bucket first, then they, then the views of their results.
void UnitGraph::sort_collective(UnitIndex u) {
  const auto range = std::span(steps_of_.elements).subspan(steps_of_.begin[u], steps_of(u).size());
  const auto place = [&](StepIndex step) {
    if (is_collective(steps_, step)) return 1;
    for (const StepIndex earlier : steps_.before(step)) {
      if (unit_of_[earlier] == u && (is_collective(steps_, earlier) || late_[earlier])) return 2;
    }
    return 0;
  };
  std::vector<std::pair<int, StepIndex>> sorted;
  for (const StepIndex step : range) {
    sorted.emplace_back(place(step), step);
    if (sorted.back().first == 2) late_[step] = true;
  }
  std::sort(sorted.begin(), sorted.end());
  for (std::size_t i = 0; i < range.size(); ++i) range[i] = sorted[i].second;
}

void UnitGraph::make_edges() {
  std::vector<UnitIndex> seen(size(), no_unit);
  before_.begin.assign(1, 0);
  std::vector<std::uint32_t> out(size() + 1, 0);
  for (UnitIndex u = 0; u < size(); ++u) {
    for (const StepIndex step : steps_of(u)) {
      for (const StepIndex earlier : steps_.before(step)) {
        const UnitIndex by = unit_of_[earlier];
        if (by == no_unit || by == u || seen[by] == u) continue;
        seen[by] = u;
        before_.elements.push_back(by);
        ++out[by + 1];
      }
    }
    before_.begin.push_back(static_cast<std::uint32_t>(before_.elements.size()));
  }
  std::partial_sum(out.begin(), out.end(), out.begin());
  after_.begin = out;
  after_.elements.resize(before_.elements.size());
  for (UnitIndex u = 0; u < size(); ++u) {
    for (const UnitIndex earlier : before(u)) after_.elements[out[earlier]++] = u;
  }
}

void UnitGraph::make_touches() {
  const auto all = steps_.buffers();
  bytes_.resize(all.size());
  kept_.resize(all.size());
  for (std::size_t b = 0; b < all.size(); ++b) {
    bytes_[b] = all[b].bytes.count;
    kept_[b] = all[b].kept;
  }
  std::vector<std::uint32_t> at(all.size(), 0);  // 1 + its place among the unit's touches
  std::vector<std::uint32_t> count(all.size() + 1, 0);
  touches_begin_.assign(1, 0);
  for (UnitIndex u = 0; u < size(); ++u) {
    const std::size_t begin = touches_.size();
    std::uint16_t round = 0;
    bool any = false, communicated = false;
    const bool merged = units_[u].kind != StepKind::compute;
    for (const StepIndex step : steps_of(u)) {
      // Collectives of a bucket are one round, and so are waits.
      const bool joins = merged && communicated;
      bool more = false;
      for (const std::uint32_t buffer : steps_.touches(step)) more = more || bytes_[buffer] > 0;
      if (!more) continue;
      if (any && !joins) ++round;
      any = true;
      if (steps_.kind(step) == StepKind::collective || steps_.kind(step) == StepKind::wait) communicated = true;
      for (const std::uint32_t buffer : steps_.touches(step)) {
        if (bytes_[buffer] == 0) continue;
        if (at[buffer] <= begin) {
          touches_.push_back({buffer, round, round});
          at[buffer] = static_cast<std::uint32_t>(touches_.size());
          ++count[buffer + 1];
        } else {
          touches_[at[buffer] - 1].last = round;
        }
      }
    }
    units_[u].rounds = static_cast<std::uint16_t>(round + 1);
    touches_begin_.push_back(static_cast<std::uint32_t>(touches_.size()));
  }
  std::partial_sum(count.begin(), count.end(), count.begin());
  touched_by_.begin = count;
  touched_by_.elements.resize(touches_.size());
  for (UnitIndex u = 0; u < size(); ++u) {
    for (const UnitTouch& touch : touches(u)) touched_by_.elements[count[touch.buffer]++] = u;
  }
}

std::vector<UnitIndex> UnitGraph::order_of(std::span<const StepIndex> steps) const {
  std::vector<std::uint32_t> key(size(), 0xffffffff), missing(size());
  for (std::uint32_t p = 0; p < steps.size(); ++p) {
    const UnitIndex u = unit_of_[steps[p]];
    if (u == no_unit) continue;
    if (units_[u].kind == StepKind::collective && key[u] != 0xffffffff && units_[u].members == 1) key[u] = p;
    else key[u] = std::min(key[u], p);
  }
  // No two units have a key in common: a step is of one unit.
  NumberQueue ready(steps.size());
  const auto make_ready = [&](UnitIndex u) { ready.add(key[u]); };
  for (UnitIndex u = 0; u < size(); ++u) {
    missing[u] = static_cast<std::uint32_t>(before(u).size());
    if (missing[u] == 0) make_ready(u);
  }
  std::vector<UnitIndex> order;
  order.reserve(size());
  while (!ready.empty()) {
    const UnitIndex u = unit_of_[steps[ready.take_lowest()]];
    order.push_back(u);
    for (const UnitIndex later : after(u)) {
      if (--missing[later] == 0) make_ready(later);
    }
  }
  if (order.size() != size()) order.clear();
  return order;
}

std::vector<StepIndex> UnitGraph::steps_in(std::span<const UnitIndex> order) const {
  std::vector<StepIndex> result;
  result.reserve(steps_.size());
  for (StepIndex step = 0; step + 1 < steps_.size(); ++step) {
    if (steps_.kind(step) == StepKind::fixed) result.push_back(step);
  }
  result.insert(result.end(), front_.begin(), front_.end());
  for (const UnitIndex u : order) {
    const auto steps = steps_of(u);
    result.insert(result.end(), steps.begin(), steps.end());
  }
  if (steps_.size() > 0 && steps_.kind(static_cast<StepIndex>(steps_.size() - 1)) == StepKind::fixed)
    result.push_back(static_cast<StepIndex>(steps_.size() - 1));
  return result;
}

}  // namespace hocket::overlap
