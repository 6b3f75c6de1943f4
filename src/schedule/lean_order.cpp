#include "schedule/lean_order.h"

#include <algorithm>
#include <set>
#include <tuple>

namespace hocket::overlap {

namespace {

// Places are labels with room between them: what sinks takes the next free label before its user's.
class Sinker {
 public:
  Sinker(const UnitGraph& units, const std::vector<UnitIndex>& order)
      : units_(units), order_(order), label_(units.size()), slot_(units.size()), lowest_(units.size()) {
    for (std::size_t p = 0; p < order.size(); ++p) {
      label_[order[p]] = (static_cast<std::int64_t>(p) + 1) * room;
      slot_[order[p]] = static_cast<std::uint32_t>(p);
      lowest_[p] = label_[order[p]];
    }
  }

  std::vector<UnitIndex> run() {
    for (std::size_t p = order_.size(); p-- > 0;) {
      if (units_.unit(order_[p]).kind == StepKind::compute) sink(order_[p]);
    }
    std::vector<UnitIndex> sorted = order_;
    std::sort(sorted.begin(), sorted.end(), [&](UnitIndex a, UnitIndex b) { return label_[a] < label_[b]; });
    return sorted;
  }

 private:
  static constexpr std::int64_t room = std::int64_t{1} << 24;

  void sink(UnitIndex u) {
    UnitIndex first = no_unit;
    for (const UnitIndex later : units_.after(u)) {
      if (first == no_unit || label_[later] < label_[first]) first = later;
    }
    if (first == no_unit) return;
    const std::uint32_t slot = slot_[first];
    const std::int64_t target = lowest_[slot] - 1;
    Size made = 0;
    for (const UnitTouch& touch : units_.touches(u)) made += change(u, touch.buffer, target);
    if (made <= 0) return;
    label_[u] = lowest_[slot] = target;
    slot_[u] = slot;
  }

  // What sinking saves for a buffer: all of it if the unit creates it, nothing if others need it later, and less than nothing if it
  // would have died here.
  Size change(UnitIndex u, std::uint32_t buffer, std::int64_t target) const {
    bool first = true;
    bool last = !units_.kept(buffer);
    for (const UnitIndex other : units_.touched_by(buffer)) {
      if (other == u) continue;
      if (label_[other] < label_[u]) first = false;
      if (label_[other] >= target) last = false;
    }
    if (first && last) return 0;  // lives only here
    if (first) return units_.bytes(buffer);
    return last ? -units_.bytes(buffer) : 0;
  }

  const UnitGraph& units_;
  const std::vector<UnitIndex>& order_;
  std::vector<std::int64_t> label_;   // by unit
  std::vector<std::uint32_t> slot_;   // by unit: the position before whose unit it stands
  std::vector<std::int64_t> lowest_;  // by slot
};

std::vector<std::uint32_t> positions_in(const std::vector<UnitIndex>& order) {
  std::vector<std::uint32_t> position(order.size());
  for (std::uint32_t p = 0; p < order.size(); ++p) position[order[p]] = p;
  return position;
}

constexpr std::size_t frugal_choices = 24;  // ready units that are compared, the first ones in the given order

class Frugal {
 public:
  Frugal(const UnitGraph& units, const std::vector<UnitIndex>& order)
      : units_(units), order_(order), position_(positions_in(order)), missing_(units.size()), left_(units.buffers()) {
    for (std::uint32_t b = 0; b < units.buffers(); ++b)
      left_[b] = static_cast<std::uint32_t>(units.touched_by(b).size());
  }

  std::vector<UnitIndex> run() {
    for (UnitIndex u = 0; u < units_.size(); ++u) {
      missing_[u] = static_cast<std::uint32_t>(units_.before(u).size());
      if (missing_[u] == 0) ready_.insert(position_[u]);
    }
    std::vector<UnitIndex> made;
    made.reserve(units_.size());
    while (!ready_.empty()) {
      const UnitIndex u = cheapest();
      ready_.erase(position_[u]);
      made.push_back(u);
      for (const UnitTouch& touch : units_.touches(u)) --left_[touch.buffer];
      for (const UnitIndex later : units_.after(u)) {
        if (--missing_[later] == 0) ready_.insert(position_[later]);
      }
    }
    return made;
  }

 private:
  UnitIndex cheapest() const {
    UnitIndex best = no_unit;
    Size least = 0;
    std::size_t looked_at = 0;
    for (const std::uint32_t p : ready_) {
      if (looked_at++ == frugal_choices) break;
      const UnitIndex u = order_[p];
      Size change = 0;
      for (const UnitTouch& touch : units_.touches(u)) {
        const std::uint32_t b = touch.buffer;
        if (left_[b] == units_.touched_by(b).size()) change += units_.bytes(b);
        if (left_[b] == 1 && !units_.kept(b)) change -= units_.bytes(b);
      }
      if (best != no_unit && change >= least) continue;
      best = u;
      least = change;
    }
    return best;
  }

  const UnitGraph& units_;
  const std::vector<UnitIndex>& order_;
  std::vector<std::uint32_t> position_, missing_, left_;
  std::set<std::uint32_t> ready_;  // positions in the given order
};

// With a stack of its own: a program may be a chain of a million units.
class Demanded {
 public:
  Demanded(const UnitGraph& units, const std::vector<UnitIndex>& order)
      : units_(units), order_(order), position_(positions_in(order)), seen_(units.size(), false) {
    made_.reserve(units.size());
  }

  std::vector<UnitIndex> run() {
    for (const UnitIndex u : order_) {
      if (units_.after(u).empty()) demand(u);
    }
    return std::move(made_);
  }

 private:
  struct Open {
    UnitIndex unit;
    std::vector<UnitIndex> needs;  // the first one last
  };

  void open(UnitIndex u) {
    seen_[u] = true;
    const auto before = units_.before(u);
    std::vector<UnitIndex> needs(before.begin(), before.end());
    std::sort(needs.begin(), needs.end(), [&](UnitIndex a, UnitIndex b) { return position_[a] > position_[b]; });
    open_.push_back({u, std::move(needs)});
  }

  void demand(UnitIndex wanted) {
    if (seen_[wanted]) return;
    open(wanted);
    while (!open_.empty()) {
      Open& last = open_.back();
      if (last.needs.empty()) {
        made_.push_back(last.unit);
        open_.pop_back();
        continue;
      }
      const UnitIndex next = last.needs.back();
      last.needs.pop_back();
      if (!seen_[next]) open(next);
    }
  }

  const UnitGraph& units_;
  const std::vector<UnitIndex>& order_;
  std::vector<std::uint32_t> position_;
  std::vector<bool> seen_;
  std::vector<Open> open_;
  std::vector<UnitIndex> made_;
};

}  // namespace

std::vector<UnitIndex> raised_order(const UnitGraph& units, const std::vector<UnitIndex>& order) {
  const std::vector<std::uint32_t> position = positions_in(order);
  // By unit: which collective it leads to, or is right behind of. 0: none.
  std::vector<std::size_t> slot(units.size(), 0);
  std::size_t collectives = 0;
  std::vector<UnitIndex> leading;
  const auto take = [&](UnitIndex u) {
    if (slot[u] != 0) return;
    slot[u] = collectives;
    leading.push_back(u);
  };
  for (const UnitIndex u : order) {
    if (units.unit(u).kind != StepKind::collective) continue;
    ++collectives;
    leading.clear();
    take(u);
    for (std::size_t i = 0; i < leading.size(); ++i) std::ranges::for_each(units.before(leading[i]), take);
  }
  std::vector<bool> leads(units.size());
  for (const UnitIndex u : order) {
    leads[u] = slot[u] != 0;
    if (leads[u]) continue;
    for (const UnitIndex earlier : units.before(u)) slot[u] = std::max(slot[u], slot[earlier]);
  }
  std::vector<UnitIndex> raised = order;
  std::sort(raised.begin(), raised.end(), [&](UnitIndex a, UnitIndex b) {
    return std::tuple(slot[a], !leads[a], position[a]) < std::tuple(slot[b], !leads[b], position[b]);
  });
  return raised;
}

std::vector<UnitIndex> demanded_order(const UnitGraph& units, const std::vector<UnitIndex>& order) {
  return Demanded(units, order).run();
}

std::vector<UnitIndex> frugal_order(const UnitGraph& units, const std::vector<UnitIndex>& order) {
  return Frugal(units, order).run();
}

std::vector<UnitIndex> lean_order(const UnitGraph& units, const std::vector<UnitIndex>& order) {
  return Sinker(units, order).run();
}

}  // namespace hocket::overlap
