#include "schedule/polish.h"

#include <algorithm>

namespace hocket::overlap {

namespace {

constexpr Time first_loss = 20;  // a move may lose one part in so many of the step at first

// The places that a unit can go to: behind the last of what it needs, before the first of what needs it.
struct Room {
  std::size_t first, last;
};
Room room_of(const UnitGraph& units, const std::vector<std::size_t>& place, UnitIndex u) {
  Room room{0, place.size() - 1};
  for (const UnitIndex earlier : units.before(u)) room.first = std::max(room.first, place[earlier] + 1);
  for (const UnitIndex later : units.after(u)) room.last = std::min(room.last, place[later] - 1);
  return room;
}

void move(std::vector<UnitIndex>& order, std::vector<std::size_t>& place, std::size_t from, std::size_t to) {
  const auto at = [&](std::size_t p) { return order.begin() + static_cast<std::ptrdiff_t>(p); };
  if (from < to) std::rotate(at(from), at(from + 1), at(to + 1));
  else std::rotate(at(to), at(from), at(from + 1));
  for (std::size_t p = std::min(from, to); p <= std::max(from, to); ++p) place[order[p]] = p;
}

}  // namespace

Time two_lane_time(const UnitGraph& units, MadeOrder& made) {
  made.begin.assign(units.size(), 0);
  made.end.assign(units.size(), 0);
  std::vector<Time> lane(units.lanes(), 0);
  Time now = 0;
  for (const UnitIndex u : made.order) {
    const Unit& unit = units.unit(u);
    if (unit.kind == StepKind::wait) now = std::max(now, made.end[unit.partner]);
    made.begin[u] = now;
    now += unit.compute;
    if (unit.kind == StepKind::collective) made.end[u] = lane[unit.lane] = std::max(now, lane[unit.lane]) + unit.comm;
  }
  for (const Time free : lane) now = std::max(now, free);
  return now;
}

MadeOrder polished(const UnitGraph& units, std::vector<UnitIndex> order, Size limit, std::size_t tries,
                   const std::function<Time(const MadeOrder&)>& time_of, Dice& dice) {
  GuideMemory memory(units);
  const auto judge = [&](MadeOrder& made) {
    made.time = two_lane_time(units, made);
    made.time = time_of(made);
  };
  MadeOrder now;
  now.order = std::move(order);
  judge(now);
  memory.reset(now.order);
  now.peak = memory.guide_peak();
  MadeOrder best = now;
  std::vector<std::size_t> place(units.size());
  for (std::size_t p = 0; p < units.size(); ++p) place[now.order[p]] = p;
  for (std::size_t i = 0; i < tries && units.size() > 1; ++i) {
    const auto u = static_cast<UnitIndex>(dice.below(units.size()));
    const Room room = room_of(units, place, u);
    if (room.first >= room.last) continue;
    const std::size_t from = place[u];
    const std::size_t to = room.first + dice.below(room.last - room.first + 1);
    if (to == from) continue;
    const Time before = now.time;
    const Time loss = before / first_loss * static_cast<Time>(tries - i) / static_cast<Time>(tries);
    move(now.order, place, from, to);
    judge(now);
    bool keep = now.time <= before + loss;
    if (keep) {
      memory.reset(now.order);
      now.peak = memory.guide_peak();
      keep = now.peak <= limit;
    }
    if (!keep) {
      move(now.order, place, to, from);
      now.time = before;
    } else if (now.time < best.time || best.peak > limit) {
      best = now;
    }
  }
  return best;
}

}  // namespace hocket::overlap
