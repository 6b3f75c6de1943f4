#include "schedule/deferral.h"

#include <algorithm>

namespace hocket::overlap {

namespace {

// Standing still less than one part in so many of the step is not worth a walk over the order.
constexpr Time worth_deferring = 1000;
constexpr std::size_t most_stalls = 3;
// What a unit takes along with it behind a collective: more than so many units are rarely worth it.
constexpr std::size_t most_followers = 32;

struct Stall {
  Time time;
  UnitIndex collective;
};

// The longest times that the compute lane stands still, the last ones first.
std::vector<Stall> longest_stalls(const UnitGraph& units, const MadeOrder& made) {
  std::vector<Stall> stalls;
  Time reached = 0;
  for (const UnitIndex u : made.order) {
    const Unit& unit = units.unit(u);
    if (unit.kind == StepKind::wait && made.begin[u] - reached > made.time / worth_deferring)
      stalls.push_back({made.begin[u] - reached, unit.partner});
    reached = std::max(reached, made.begin[u] + unit.compute);
  }
  std::reverse(stalls.begin(), stalls.end());
  if (stalls.size() > most_stalls) {
    std::stable_sort(stalls.begin(), stalls.end(), [](const Stall& a, const Stall& b) { return a.time > b.time; });
    stalls.resize(most_stalls);
  }
  return stalls;
}

class Deferral {
 public:
  Deferral(const UnitGraph& units, const MadeOrder& made, const std::vector<Time>& comm)
      : units_(units), made_(made), comm_(comm), starts_(made.begin), place_(units.size()) {
    for (std::uint32_t p = 0; p < made.order.size(); ++p) place_[made.order[p]] = p;
  }

  std::vector<Time> take() { return std::move(starts_); }

  // Walks back from where the collective is issued. What can go behind it: what it does not need, if all that needs this is behind it
  // or goes there too.
  void defer_behind(UnitIndex collective, Time wanted) {
    const std::uint32_t issue = place_[collective];
    needed_.assign(units_.size(), false);
    free_.assign(units_.size(), false);
    gone_.assign(units_.size(), false);
    needed_[collective] = true;
    for (std::uint32_t p = issue + 1; p-- > 0 && wanted > 0;) {
      const UnitIndex u = made_.order[p];
      if (needed_[u]) {
        for (const UnitIndex earlier : units_.before(u)) needed_[earlier] = true;
        continue;
      }
      const auto after = units_.after(u);
      free_[u] = std::all_of(after.begin(), after.end(),
                             [&](UnitIndex later) { return place_[later] > issue || free_[later]; });
      if (!free_[u] || units_.unit(u).kind != StepKind::compute || gone_[u]) continue;
      list_.clear();
      const Time gain = gain_of(u, issue);
      for (const UnitIndex v : list_) gone_[v] = gain > 0;
      if (gain <= 0) continue;
      for (const UnitIndex v : list_) {
        wanted -= units_.unit(v).compute;
        starts_[v] = made_.begin[collective] + 1 + (starts_[v] >> later_bits);
      }
    }
  }

 private:
  // Keeps the order of what is deferred without going far behind the collective.
  static constexpr int later_bits = 20;

  // Compute that goes behind the collective with a unit, less what is communicated later for that; nothing if too much would go. Lists
  // all that goes.
  Time gain_of(UnitIndex first, std::uint32_t issue) {
    Time gain = 0;
    list_.push_back(first);
    gone_[first] = true;
    for (std::size_t i = 0; i < list_.size(); ++i) {
      if (list_.size() > most_followers) return 0;
      const UnitIndex u = list_[i];
      const Unit& unit = units_.unit(u);
      gain += unit.kind == StepKind::collective ? unit.compute - comm_[u] : unit.compute;
      for (const UnitIndex later : units_.after(u)) {
        if (place_[later] > issue || gone_[later]) continue;
        gone_[later] = true;
        list_.push_back(later);
      }
    }
    return gain;
  }

  const UnitGraph& units_;
  const MadeOrder& made_;
  const std::vector<Time>& comm_;
  std::vector<Time> starts_;
  std::vector<std::uint32_t> place_;
  std::vector<bool> needed_, free_, gone_;
  std::vector<UnitIndex> list_;
};

}  // namespace

std::vector<Time> deferred_starts(const UnitGraph& units, const MadeOrder& made, const std::vector<Time>& comm,
                                  double share) {
  Deferral deferral(units, made, comm);
  for (const Stall& stall : longest_stalls(units, made))
    deferral.defer_behind(stall.collective, static_cast<Time>(share * static_cast<double>(stall.time)));
  return deferral.take();
}

}  // namespace hocket::overlap
