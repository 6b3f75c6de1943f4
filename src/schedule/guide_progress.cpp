#include "schedule/guide_progress.h"

#include <algorithm>

#include "schedule/urgency.h"

namespace hocket::overlap {

// Does not depend on the guide but for ties, and so is done once.
void GuideProgress::sort_by_urgency(const std::vector<UnitIndex>& guide) {
  const auto latest = latest_starts(units_, guide, comm_times(units_, {}), false);
  critical_ = guide;
  std::stable_sort(critical_.begin(), critical_.end(), [&](UnitIndex a, UnitIndex b) { return latest[a] < latest[b]; });
}

Size GuideProgress::taken(UnitIndex u, std::vector<std::uint32_t>& left) const {
  Size size = 0;
  for (const UnitTouch& touch : units_.touches(u)) {
    if (left[touch.buffer] == units_.touched_by(touch.buffer).size()) size += units_.bytes(touch.buffer);
    if (--left[touch.buffer] == 0 && !units_.kept(touch.buffer)) size -= units_.bytes(touch.buffer);
  }
  return size;
}

// What a collective makes only for itself, such as a cast that runs right before it, is gone with its wait and counts for nothing.
bool GuideProgress::gives_more_than_it_reads(UnitIndex wait) const {
  const UnitIndex collective = units_.unit(wait).partner;
  Size given = 0;
  Size read = 0;
  for (const UnitTouch& touch : units_.touches(collective)) {
    const auto users = units_.touched_by(touch.buffer);
    const bool lasts = units_.kept(touch.buffer) || std::any_of(users.begin(), users.end(), [&](UnitIndex u) {
                         return u != collective && u != wait;
                       });
    if (users[0] != collective) read += units_.bytes(touch.buffer);
    else if (lasts) given += units_.bytes(touch.buffer);
  }
  return given > read;
}

void GuideProgress::reset(const std::vector<UnitIndex>& guide) {
  if (critical_.empty()) sort_by_urgency(guide);
  place_.assign(units_.size(), 0);
  need_.assign(units_.size(), 0);
  takes_.assign(units_.size(), false);
  std::vector<std::uint32_t> left(units_.buffers());
  for (std::uint32_t b = 0; b < left.size(); ++b) left[b] = static_cast<std::uint32_t>(units_.touched_by(b).size());
  total_ = progress_ = 0;
  next_ = 0;
  for (const UnitIndex u : guide) {
    const Unit& unit = units_.unit(u);
    place_[u] = total_;
    total_ += unit.compute;
    takes_[u] = taken(u, left) > 0 && unit.kind == StepKind::compute;
    if (unit.kind != StepKind::wait || need_[unit.partner] != 0) continue;
    if (gives_more_than_it_reads(u)) need_[unit.partner] = std::max<Time>(total_, 1);
  }
}

void GuideProgress::advance(const GuideMemory& memory) {
  while (next_ < critical_.size() && memory.done(critical_[next_])) ++next_;
  if (next_ < critical_.size()) progress_ = std::max(progress_, place_[critical_[next_]]);
}

}  // namespace hocket::overlap
