// Memory of an order that is being built: what is held now, and what would be held at each unit to come if the rest ran in the order of
// a guide. A unit may run out of turn only if neither exceeds the limit; the guide's next unit always may, so that there are no
// dead ends and the limit is never broken.
//
//   GuideMemory memory(units, guide);
//   if (memory.try_run(unit, limit)) …
//
// The profile lives in a tree over the guide's positions. Running a unit ahead of its turn holds what it creates at all positions
// before its own: profiles change by prefixes, which a tree of suffix sums takes as a change at one leaf.
#pragma once

#include <limits>
#include <vector>

#include "schedule/unit_graph.h"

namespace hocket::overlap {

class GuideMemory {
 public:
  explicit GuideMemory(const UnitGraph& units) : units_(units) {}

  // Starts again with nothing done. The guide is a valid order of all units.
  void reset(const std::vector<UnitIndex>& guide);

  Size guide_peak() const { return guide_peak_; }
  Size peak() const { return peak_; }  // of what has run
  Size held() const { return held_; }
  UnitIndex next() const { return guide_[next_]; }  // the first of the guide that has not run
  bool done(UnitIndex u) const { return done_[position_[u]]; }
  std::uint32_t position(UnitIndex u) const { return position_[u]; }

  // How much has been done since this was made, in steps of about equal time. The same on every machine, unlike a clock.
  std::uint64_t work() const { return work_; }

  // Runs it if the limit is kept; the guide's next runs in any case.
  bool try_run(UnitIndex u, Size limit);
  void run(UnitIndex u);  // whatever the limit

 private:
  struct Node {
    Size sum = 0;   // of the changes at its leaves
    Size best = 0;  // the largest profile in it, counted from its end
  };
  static constexpr Size nothing = std::numeric_limits<Size>::min() / 4;

  Size live_while(UnitIndex u) const;
  void build();
  void add(std::uint32_t position, Size change);  // at a leaf; settle() tells the rest of the tree
  void settle();
  void pull(std::size_t node) {
    const Node& left = tree_[2 * node];
    const Node& right = tree_[2 * node + 1];
    tree_[node] = {left.sum + right.sum, std::max(right.best, right.sum + left.best)};
  }
  void take(UnitIndex u);
  void give_back(UnitIndex u, Size leaf);  // undoes a take() out of turn
  Size most_to_come() const;               // the largest profile of the units to come

  const UnitGraph& units_;
  std::vector<UnitIndex> guide_;
  std::vector<std::uint32_t> position_;  // by unit
  std::vector<bool> done_;               // by position
  std::uint32_t next_ = 0;
  std::vector<std::uint32_t> touch_begin_;
  std::vector<std::uint32_t> touch_at_;  // positions of each buffer's touches, ascending
  std::vector<std::uint32_t> last_;      // by buffer: index of its last touch that is to come
  std::vector<std::uint32_t> left_;      // by buffer: touches to come
  std::vector<Size> correction_;         // by position: what a unit of several rounds holds less than all it touches
  std::size_t leaves_ = 1;
  std::vector<Node> tree_;
  std::vector<std::pair<std::uint32_t, Size>> changes_;  // of the last take()
  std::vector<std::size_t> changed_;                     // leaves that the nodes above do not know of yet
  std::uint64_t work_ = 0;
  Size held_ = 0, peak_ = 0, guide_peak_ = 0;
  mutable std::vector<Size> rounds_;
};

}  // namespace hocket::overlap
