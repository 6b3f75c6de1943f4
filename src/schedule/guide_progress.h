// How far an order that is being built has come, measured on a guide, and what would take memory before its time.
//
// A place is the compute before a unit in the guide's order. The order has come as far as the place of the most critical unit that has not
// run: what is put off for later does not hold that back, and what runs far ahead does not push it forward.
#pragma once

#include <vector>

#include "schedule/guide_memory.h"
#include "schedule/unit_graph.h"

namespace hocket::overlap {

class GuideProgress {
 public:
  explicit GuideProgress(const UnitGraph& units) : units_(units) {}

  void reset(const std::vector<UnitIndex>& guide);
  void advance(const GuideMemory& memory);

  Time progress() const { return progress_; }
  Time total() const { return total_; }
  Time place(UnitIndex u) const { return place_[u]; }
  // Compute that creates more than what nobody needs behind it.
  bool takes(UnitIndex u) const { return takes_[u]; }
  // Of a collective that gives more than it reads: the place of its first wait; 0 for others.
  Time need(UnitIndex collective) const { return need_[collective]; }

 private:
  void sort_by_urgency(const std::vector<UnitIndex>& guide);
  bool gives_more_than_it_reads(UnitIndex wait) const;
  Size taken(UnitIndex u, std::vector<std::uint32_t>& left) const;

  const UnitGraph& units_;
  std::vector<UnitIndex> critical_;  // all units, those with the most behind them first
  std::size_t next_ = 0;             // the first of them that has not run
  std::vector<Time> place_, need_;   // by unit
  std::vector<bool> takes_;          // by unit
  Time total_ = 0, progress_ = 0;
};

}  // namespace hocket::overlap
