#include "schedule/early_order.h"

#include <algorithm>
#include <iterator>
#include <limits>
#include <numeric>

#include "schedule/guide_memory.h"

namespace hocket::overlap {

namespace {

// Whatever holds more than this share of the peak, inputs apart, counts as part of it: a loss is a row of steps that hold nearly the same.
constexpr double part_of_peak = 0.97;
constexpr double most_less = 16;  // no less than this part of what was asked for is worth another guide

// The first units of a part, in the guide's order: what they compute, and what they hold at the peak more than the guide.
struct Cut {
  std::size_t units;
  Time compute;
  Size held;
};

// A step from one cut of a part to a better one.
struct Extension {
  std::uint32_t part;
  Cut from, to;
  std::uint32_t place;  // by what is preferred

  Time compute() const { return to.compute - from.compute; }
  Size held() const { return to.held - from.held; }
};

// More compute for each byte; multiplied out, so that it is the same on every machine.
bool pays_more(const Extension& a, const Extension& b) {
  const auto left = static_cast<double>(a.compute()) * static_cast<double>(b.held());
  const auto right = static_cast<double>(b.compute()) * static_cast<double>(a.held());
  return left > right;
}

class Early {
 public:
  Early(const UnitGraph& units, const std::vector<UnitIndex>& guide) : units_(units), guide_(guide) {
    place_.resize(units.size());
    for (std::uint32_t p = 0; p < guide.size(); ++p) place_[guide[p]] = p;
    find_peak();
    find_movable();
  }

  Size peak() const { return peak_; }
  bool any() const { return !parts_.empty(); }

  EarlyOrder choose(Size room, Prefer prefer) {
    std::vector<Extension> list = extensions(prefer);
    std::stable_sort(list.begin(), list.end(), [](const Extension& a, const Extension& b) {
      if (pays_more(a, b)) return true;
      return !pays_more(b, a) && a.place < b.place;
    });
    std::vector<std::size_t> taken(parts_.size(), 0);  // by part: units of it
    for (const Extension& next : list) {
      if (taken[next.part] != next.from.units || next.held() > room) continue;
      taken[next.part] = next.to.units;
      room -= next.held();
    }
    early_.assign(units_.size(), false);
    for (std::size_t part = 0; part < parts_.size(); ++part) {
      for (std::size_t i = 0; i < taken[part]; ++i) early_[parts_[part][i]] = true;
    }
    return placed();
  }

 private:
  void find_peak() {
    std::vector<std::uint32_t> left(units_.buffers());
    for (std::uint32_t b = 0; b < left.size(); ++b) left[b] = static_cast<std::uint32_t>(units_.touched_by(b).size());
    std::vector<Size> profile(guide_.size());
    Size held = units_.input_bytes();
    for (std::size_t p = 0; p < guide_.size(); ++p) {
      const auto touches = units_.touches(guide_[p]);
      for (const UnitTouch& touch : touches) {
        if (left[touch.buffer] == units_.touched_by(touch.buffer).size()) held += units_.bytes(touch.buffer);
      }
      profile[p] = held;
      for (const UnitTouch& touch : touches) {
        if (--left[touch.buffer] == 0 && !units_.kept(touch.buffer)) held -= units_.bytes(touch.buffer);
      }
    }
    peak_ = profile.empty() ? 0 : *std::max_element(profile.begin(), profile.end());
    const auto part = static_cast<Size>(part_of_peak * static_cast<double>(peak_ - units_.input_bytes()));
    const auto is_high = [&](Size size) { return size >= units_.input_bytes() + part; };
    const auto first = std::find_if(profile.begin(), profile.end(), is_high);
    const auto last = std::find_if(profile.rbegin(), profile.rend(), is_high);
    if (first == profile.end()) return;
    first_high_ = static_cast<std::uint32_t>(first - profile.begin());
    last_high_ = static_cast<std::uint32_t>(profile.rend() - last) - 1;
  }

  bool behind(UnitIndex u) const { return place_[u] > last_high_; }

  // What is behind the peak and needs nothing from there, in parts that have nothing to do with each other.
  void find_movable() {
    movable_.assign(units_.size(), false);
    std::vector<UnitIndex> root(units_.size());
    std::iota(root.begin(), root.end(), UnitIndex{0});
    const auto root_of = [&](UnitIndex u) {
      while (root[u] != u) u = root[u] = root[root[u]];
      return u;
    };
    for (std::size_t p = last_high_ + 1; p < guide_.size(); ++p) {
      const UnitIndex u = guide_[p];
      const auto before = units_.before(u);
      movable_[u] = std::all_of(before.begin(), before.end(),
                                [&](UnitIndex v) { return place_[v] < first_high_ || movable_[v]; });
      if (!movable_[u]) continue;
      for (const UnitIndex v : before) {
        if (behind(v)) root[root_of(u)] = root_of(v);
      }
    }
    constexpr std::uint32_t none = 0xffffffff;
    std::vector<std::uint32_t> part_of(units_.size(), none);
    for (std::size_t p = last_high_ + 1; p < guide_.size(); ++p) {
      const UnitIndex u = guide_[p];
      if (!movable_[u]) continue;
      std::uint32_t& part = part_of[root_of(u)];
      if (part == none) {
        part = static_cast<std::uint32_t>(parts_.size());
        parts_.emplace_back();
      }
      parts_[part].push_back(u);
    }
  }

  // Of each part the cuts that no other is better than: each gives less for its memory than the one before.
  std::vector<Extension> extensions(Prefer prefer) const {
    std::vector<Extension> list;
    std::vector<std::uint32_t> in_front(units_.buffers(), 0), to_come(units_.buffers(), 0);
    for (std::uint32_t b = 0; b < units_.buffers(); ++b) {
      for (const UnitIndex u : units_.touched_by(b)) ++(behind(u) ? to_come : in_front)[b];
    }
    const auto held = [&](std::uint32_t b) {
      return in_front[b] > 0 && (to_come[b] > 0 || units_.kept(b)) ? units_.bytes(b) : Size{0};
    };
    for (std::uint32_t part = 0; part < parts_.size(); ++part) {
      std::vector<Cut> cuts = {{0, 0, 0}};
      Cut cut = cuts[0];
      for (const UnitIndex u : parts_[part]) {
        for (const UnitTouch& touch : units_.touches(u)) {
          cut.held -= held(touch.buffer);
          ++in_front[touch.buffer];
          --to_come[touch.buffer];
          cut.held += held(touch.buffer);
        }
        cut.compute += units_.unit(u).compute;
        ++cut.units;
        add(cuts, cut);
      }
      for (const UnitIndex u : parts_[part]) {
        for (const UnitTouch& touch : units_.touches(u)) {
          --in_front[touch.buffer];
          ++to_come[touch.buffer];
        }
      }
      const std::uint32_t needed = place_[parts_[part].back()];
      const std::uint32_t place = prefer == Prefer::soon_needed ? needed : ready(part);
      for (std::size_t i = 1; i < cuts.size(); ++i) list.push_back({part, cuts[i - 1], cuts[i], place});
    }
    return list;
  }

  static void add(std::vector<Cut>& cuts, const Cut& next) {
    while (cuts.size() > 1 && next.held <= cuts.back().held) cuts.pop_back();
    while (cuts.size() > 1) {
      const Extension before{0, cuts[cuts.size() - 2], cuts.back(), 0}, after{0, cuts.back(), next, 0};
      if (!pays_more(after, before)) break;
      cuts.pop_back();
    }
    if (next.compute > cuts.back().compute) cuts.push_back(next);
  }

  // Where in the guide a part could begin.
  std::uint32_t ready(std::uint32_t part) const {
    std::uint32_t first = 0;
    for (const UnitIndex u : parts_[part]) {
      for (const UnitIndex v : units_.before(u)) {
        if (!behind(v)) first = std::max(first, place_[v]);
      }
    }
    return first;
  }

  // Behind the last that it needs; what needs nothing, such as a gather of parameters, before the first that needs it.
  EarlyOrder placed() const {
    constexpr std::uint32_t anywhere = 0xffffffff;
    std::vector<std::uint32_t> at(place_);
    for (std::size_t p = last_high_ + 1; p < guide_.size(); ++p) {
      const UnitIndex u = guide_[p];
      if (!early_[u]) continue;
      at[u] = anywhere;
      for (const UnitIndex v : units_.before(u)) {
        if (at[v] != anywhere) at[u] = at[u] == anywhere ? at[v] : std::max(at[u], at[v]);
      }
    }
    for (std::size_t p = guide_.size(); p-- > last_high_ + 1;) {
      const UnitIndex u = guide_[p];
      if (!early_[u] || at[u] != anywhere) continue;
      for (const UnitIndex v : units_.after(u)) {
        if (early_[v]) at[u] = std::min(at[u], at[v]);
      }
      if (at[u] == anywhere) at[u] = first_high_;
    }
    EarlyOrder early{guide_, {}, {guide_.begin() + first_high_, guide_.begin() + last_high_ + 1}};
    std::stable_sort(early.order.begin(), early.order.end(), [&](UnitIndex a, UnitIndex b) { return at[a] < at[b]; });
    std::copy_if(early.order.begin(), early.order.end(), std::back_inserter(early.moved),
                 [&](UnitIndex u) { return early_[u]; });
    return early;
  }

  const UnitGraph& units_;
  const std::vector<UnitIndex>& guide_;
  std::vector<std::uint32_t> place_;  // by unit
  Size peak_ = 0;
  std::uint32_t first_high_ = 0, last_high_ = 0;  // places of the peak
  std::vector<bool> movable_, early_;
  std::vector<std::vector<UnitIndex>> parts_;
};

}  // namespace

void EarlyOrder::make_urgent(std::vector<Time>& priority) const {
  Time next = std::numeric_limits<Time>::max();
  for (const UnitIndex u : peak) next = std::min(next, priority[u]);
  next -= static_cast<Time>(moved.size());
  for (const UnitIndex u : moved) priority[u] = std::min(priority[u], next++);
}

EarlyOrder early_order(const UnitGraph& units, const std::vector<UnitIndex>& guide, Size limit, double share,
                       Prefer prefer) {
  Early early(units, guide);
  const Size left = limit - early.peak();
  if (left <= 0 || !early.any()) return {guide, {}, {}};
  GuideMemory memory(units);
  // Where the peak grows by more than what is held at its end, less goes in front of it.
  for (double part = share; part > share / most_less; part /= 2) {
    EarlyOrder chosen = early.choose(static_cast<Size>(part * static_cast<double>(left)), prefer);
    memory.reset(chosen.order);
    if (memory.guide_peak() <= limit) return chosen;
  }
  return {guide, {}, {}};
}

}  // namespace hocket::overlap
