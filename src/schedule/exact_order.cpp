#include "schedule/exact_order.h"

#include <algorithm>
#include <bit>
#include <unordered_map>

namespace hocket::overlap {

namespace {

using UnitSet = std::uint64_t;
using WayIndex = std::uint32_t;

constexpr UnitSet only(UnitIndex u) { return UnitSet{1} << u; }
constexpr bool has(UnitSet set, UnitIndex u) { return (set >> u & 1U) != 0; }

// One way to a set of units. Its times stand in a pool: when the compute lane is free, each lane, and when each collective that nobody
// has waited for ends. What has passed counts as now: it makes no difference any more.
struct Way {
  UnitSet done = 0;
  UnitSet added = 0;  // by the last step: a unit, or the members of a bucket
  WayIndex from = 0;
  bool dropped = false;
};

// The same for all ways.
class Facts {
 public:
  explicit Facts(const UnitGraph& units) : units_(units) {
    for (UnitIndex u = 0; u < units.size(); ++u) {
      UnitSet needs = 0;
      for (const UnitIndex earlier : units.before(u)) needs |= only(earlier);
      needs_.push_back(needs);
    }
    for (std::uint32_t b = 0; b < units.buffers(); ++b) {
      UnitSet touched = 0;
      for (const UnitIndex u : units.touched_by(b)) touched |= only(u);
      touched_by_.push_back(touched);
    }
    find_tails();
  }

  bool ready(UnitSet done, UnitIndex u) const { return !has(done, u) && (needs_[u] & ~done) == 0; }
  Time tail(UnitIndex u) const { return tail_[u]; }

  Size held(UnitSet done) const {
    Size held = units_.input_bytes();
    for (std::uint32_t b = 0; b < touched_by_.size(); ++b) {
      const bool begun = (touched_by_[b] & done) != 0;
      if (begun && (units_.kept(b) || (touched_by_[b] & ~done) != 0)) held += units_.bytes(b);
    }
    return held;
  }

  // What is held at most while a unit runs.
  Size live_while(UnitSet done, Size held, UnitIndex u) const {
    std::vector<Size> change(units_.unit(u).rounds + 1U, 0);
    for (const UnitTouch& touch : units_.touches(u)) {
      const UnitSet others = touched_by_[touch.buffer] & ~only(u);
      if ((others & done) == 0) change[touch.first] += units_.bytes(touch.buffer);
      if ((others & ~done) == 0 && !units_.kept(touch.buffer)) change[touch.last + 1U] -= units_.bytes(touch.buffer);
    }
    Size most = held;
    for (std::size_t r = 0; r + 1 < change.size(); ++r) most = std::max(most, held += change[r]);
    return most;
  }

 private:
  // The least time from the start of a unit to the end of the step.
  void find_tails() {
    tail_.assign(units_.size(), 0);
    const auto order = units_.topological();
    for (std::size_t p = order.size(); p-- > 0;) {
      const UnitIndex u = order[p];
      const Unit& unit = units_.unit(u);
      Time comm = unit.comm;
      if (unit.merge_class != no_class) comm = std::min(comm, units_.merged_time(unit.merge_class, unit.moved));
      Time rest = unit.kind == StepKind::collective ? comm : 0;
      for (const UnitIndex later : units_.after(u)) {
        const bool awaits = units_.unit(later).kind == StepKind::wait && units_.unit(later).partner == u;
        rest = std::max(rest, tail_[later] + (awaits ? comm : 0));
      }
      tail_[u] = unit.compute + rest;
    }
  }

  const UnitGraph& units_;
  std::vector<UnitSet> needs_, touched_by_;
  std::vector<Time> tail_;
};

class Ways {
 public:
  Ways(const UnitGraph& units, Size limit, Time faster_than, std::size_t most)
      : units_(units), facts_(units), limit_(limit), best_time_(faster_than), most_(most) {
    all_ = units.size() == most_exact_units ? ~UnitSet{0} : (UnitSet{1} << units.size()) - 1;
    slot_.assign(units.size(), 0);
    slots_ = 1 + units.lanes();
    for (UnitIndex u = 0; u < units.size(); ++u) {
      if (units.unit(u).kind == StepKind::collective) slot_[u] = slots_++;
    }
  }

  ExactOrder run() {
    by_size_.resize(units_.size() + 1);
    ways_.push_back({});
    times_.assign(slots_, 0);
    by_size_[0].push_back(0);
    // A way only leads to larger sets.
    for (std::size_t size = 0; size < units_.size(); ++size) {
      for (std::size_t i = 0; i < by_size_[size].size(); ++i) {
        if (ways_.size() > most_) return {};
        go_on(by_size_[size][i]);
      }
      by_size_[size] = {};
    }
    ExactOrder result;
    result.complete = true;
    if (best_ != 0) result.made = made();
    return result;
  }

 private:
  // Where a way leads next. What has arrived is waited for at once: that costs nothing and frees memory.
  void go_on(WayIndex from) {
    if (ways_[from].dropped) return;
    const UnitSet done = ways_[from].done;
    const Size held = facts_.held(done);
    const Time now = time(from, 0);
    for (UnitIndex u = 0; u < units_.size(); ++u) {
      const Unit& unit = units_.unit(u);
      if (unit.kind != StepKind::wait || unit.compute > 0 || !facts_.ready(done, u)) continue;
      if (time(from, slot_[unit.partner]) <= now) return step(from, held, {u});
    }
    for (UnitIndex u = 0; u < units_.size(); ++u) {
      if (!facts_.ready(done, u)) continue;
      step(from, held, {u});
      if (units_.unit(u).kind == StepKind::collective && units_.unit(u).merge_class != no_class)
        merge(from, held, {u}, u + 1);
    }
  }

  // All buckets that begin with these members.
  void merge(WayIndex from, Size held, const std::vector<UnitIndex>& members, UnitIndex next) {
    const std::uint32_t merge_class = units_.unit(members[0]).merge_class;
    for (UnitIndex u = next; u < units_.size(); ++u) {
      if (units_.unit(u).kind != StepKind::collective || units_.unit(u).merge_class != merge_class ||
          !facts_.ready(ways_[from].done, u) || ways_.size() > most_)
        continue;
      std::vector<UnitIndex> more = members;
      more.push_back(u);
      step(from, held, more);
      merge(from, held, more, u + 1);
    }
  }

  Time time(WayIndex way, std::size_t slot) const { return times_[way * slots_ + slot]; }
  std::size_t lane_slot(std::uint32_t lane) const { return 1 + lane; }

  void step(WayIndex from, Size held, const std::vector<UnitIndex>& members) {
    now_.assign(times_.begin() + static_cast<std::ptrdiff_t>(from * slots_),
                times_.begin() + static_cast<std::ptrdiff_t>((from + 1) * slots_));
    Way way{ways_[from].done, 0, from, false};
    for (const UnitIndex u : members) {
      if (facts_.live_while(way.done, held, u) > limit_) return;
      way.done |= only(u);
      way.added |= only(u);
      held = facts_.held(way.done);
    }
    advance(units_, members, slot_, now_);
    forget_past(way.done);
    if (way.done == all_) return finish(way);
    if (least_end(way.done) < best_time_) add(way);
  }

  // The clocks after one more step.
  static void advance(const UnitGraph& units, const std::vector<UnitIndex>& members,
                      const std::vector<std::size_t>& slot, std::vector<Time>& clocks) {
    const Unit& first = units.unit(members[0]);
    if (first.kind == StepKind::wait) clocks[0] = std::max(clocks[0], clocks[slot[first.partner]]);
    Size moved = 0;
    for (const UnitIndex u : members) {
      clocks[0] += units.unit(u).compute;
      moved += units.unit(u).moved;
    }
    if (first.kind != StepKind::collective) return;
    Time& lane = clocks[1 + first.lane];
    lane = std::max(lane, clocks[0]) + (members.size() > 1 ? units.merged_time(first.merge_class, moved) : first.comm);
    for (const UnitIndex u : members) clocks[slot[u]] = lane;
  }

  void forget_past(UnitSet done) {
    for (UnitIndex u = 0; u < units_.size(); ++u) {
      if (units_.unit(u).kind != StepKind::collective || !has(done, u)) continue;
      const auto after = units_.after(u);
      const bool awaited = std::all_of(after.begin(), after.end(), [&](UnitIndex later) {
        return units_.unit(later).partner != u || has(done, later);
      });
      if (awaited) now_[slot_[u]] = now_[0];
    }
    for (std::size_t slot = 1; slot < slots_; ++slot) now_[slot] = std::max(now_[slot], now_[0]);
  }

  // No way on from here ends the step earlier.
  Time least_end(UnitSet done) const {
    Time left = 0;
    Time end = 0;
    for (UnitIndex u = 0; u < units_.size(); ++u) {
      const Unit& unit = units_.unit(u);
      if (has(done, u)) continue;
      left += unit.compute;
      const bool flies = unit.kind == StepKind::wait && has(done, unit.partner);
      end = std::max(end, (flies ? now_[slot_[unit.partner]] : now_[0]) + facts_.tail(u));
    }
    for (std::size_t lane = 0; lane < units_.lanes(); ++lane) end = std::max(end, now_[1 + lane]);
    return std::max(end, now_[0] + left);
  }

  void finish(const Way& way) {
    const Time end = *std::max_element(now_.begin(), now_.begin() + 1 + units_.lanes());
    if (end >= best_time_) return;
    best_time_ = end;
    best_ = static_cast<WayIndex>(ways_.size());
    append(way);
  }

  // Keeps it unless another way to the same set is nowhere later; forgets those that are nowhere earlier.
  void add(const Way& way) {
    std::vector<WayIndex>& same = ways_to_[way.done];
    const auto nowhere_later = [&](const Time* a, const Time* b) {
      return std::equal(a, a + slots_, b, [](Time x, Time y) { return x <= y; });
    };
    for (const WayIndex other : same) {
      if (nowhere_later(&times_[other * slots_], now_.data())) return;
    }
    std::erase_if(same, [&](WayIndex other) {
      ways_[other].dropped = nowhere_later(now_.data(), &times_[other * slots_]);
      return ways_[other].dropped;
    });
    const auto index = static_cast<WayIndex>(ways_.size());
    same.push_back(index);
    by_size_[static_cast<std::size_t>(std::popcount(way.done))].push_back(index);
    append(way);
  }

  void append(const Way& way) {
    ways_.push_back(way);
    times_.insert(times_.end(), now_.begin(), now_.end());
  }

  // The best way as an order, run once more from the front.
  MadeOrder made() const {
    std::vector<UnitSet> steps;
    for (WayIndex way = best_; way != 0; way = ways_[way].from) steps.push_back(ways_[way].added);
    std::reverse(steps.begin(), steps.end());
    MadeOrder made;
    made.time = best_time_;
    made.begin.assign(units_.size(), 0);
    made.end.assign(units_.size(), 0);
    std::vector<Time> clocks(slots_, 0);
    UnitSet done = 0;
    for (const UnitSet added : steps) {
      std::vector<UnitIndex> members;
      for (UnitIndex u = 0; u < units_.size(); ++u) {
        if (!has(added, u)) continue;
        made.peak = std::max(made.peak, facts_.live_while(done, facts_.held(done), u));
        done |= only(u);
        members.push_back(u);
      }
      advance(units_, members, slot_, clocks);
      Time begin = clocks[0];
      for (const UnitIndex u : members) begin -= units_.unit(u).compute;
      for (const UnitIndex u : members) {
        made.begin[u] = begin;
        begin += units_.unit(u).compute;
        if (slot_[u] != 0) made.end[u] = clocks[slot_[u]];
        made.order.push_back(u);
      }
      if (members.size() > 1) made.buckets.push_back(std::move(members));
    }
    return made;
  }

  const UnitGraph& units_;
  const Facts facts_;
  const Size limit_;
  Time best_time_;
  const std::size_t most_;
  UnitSet all_ = 0;
  std::vector<std::size_t> slot_;  // by unit: where the end of a collective stands among the times
  std::size_t slots_ = 0;
  std::vector<Way> ways_;    // the first one leads nowhere yet
  std::vector<Time> times_;  // slots_ for each way
  std::vector<std::vector<WayIndex>> by_size_;
  std::unordered_map<UnitSet, std::vector<WayIndex>> ways_to_;
  WayIndex best_ = 0;
  std::vector<Time> now_;  // of the way that is being made
};

}  // namespace

ExactOrder exact_order(const UnitGraph& units, Size limit, Time faster_than, std::size_t most_ways) {
  if (units.size() == 0 || units.size() > most_exact_units || units.topological().size() != units.size()) return {};
  return Ways(units, limit, faster_than, most_ways).run();
}

}  // namespace hocket::overlap
