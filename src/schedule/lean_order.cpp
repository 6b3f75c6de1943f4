#include "schedule/lean_order.h"

#include <algorithm>
#include <set>

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

constexpr std::size_t frugal_choices = 24;  // ready units that are compared, the first ones in the given order

class Frugal {
 public:
  Frugal(const UnitGraph& units, const std::vector<UnitIndex>& order)
      : units_(units), order_(order), position_(units.size()), missing_(units.size()), left_(units.buffers()) {
    for (std::uint32_t p = 0; p < order.size(); ++p) position_[order[p]] = p;
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

}  // namespace

std::vector<UnitIndex> frugal_order(const UnitGraph& units, const std::vector<UnitIndex>& order) {
  return Frugal(units, order).run();
}

std::vector<UnitIndex> lean_order(const UnitGraph& units, const std::vector<UnitIndex>& order) {
  return Sinker(units, order).run();
}

}  // namespace hocket::overlap
