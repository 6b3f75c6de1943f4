// The steps of a program as few units that move as one, in flat arrays: what the search of `overlap` works on.
//
// A view runs right behind what it is a view of. Light steps that only one collective needs run right before it. What is left of
// a bucket's members is one unit, and so are their waits. Within a unit, memory is exact: a unit has rounds, and a touch says from which
// round of the unit to which.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "hocket/schedule/overlap.h"
#include "hocket/schedule/step_graph.h"

namespace hocket::overlap {

using Time = std::int64_t;  // picoseconds
using Size = std::int64_t;  // bytes
using UnitIndex = std::uint32_t;
inline constexpr UnitIndex no_unit = 0xffffffff;
inline constexpr std::uint32_t no_class = 0xffffffff;

struct Unit {
  Time compute = 0;  // on the compute lane; of a collective: what it takes before it is issued
  Time comm = 0;     // of a collective, on its lane
  Size moved = 0;
  std::uint32_t lane = 0;
  std::uint32_t merge_class = no_class;
  UnitIndex partner = no_unit;  // of a wait: its collective; of a collective: its first wait
  std::uint32_t members = 1;    // collectives in it
  std::uint16_t rounds = 1;
  StepKind kind = StepKind::compute;
};

struct UnitTouch {
  std::uint32_t buffer;
  std::uint16_t first, last;  // rounds of the unit
};

// Buckets as lists of collectives (steps); each collective in one at most.
using Buckets = std::vector<std::vector<StepIndex>>;

class UnitGraph {
 public:
  // What does not depend on buckets: which steps belong together.
  struct Grouping {
    std::vector<std::uint32_t> group_of;  // by step; no_unit: runs in front of everything
    std::vector<StepIndex> front;         // steps that need nothing but inputs and hold nothing
    std::vector<std::uint32_t> class_of;  // by step, of candidates
    std::vector<Size> moved;              // by step
    std::size_t groups = 0;
  };
  static Grouping grouping(const StepGraph& steps, const OverlapOptions& options);

  UnitGraph(const StepGraph& steps, const Grouping& grouping, const OverlapOptions& options, const Buckets& buckets);

  std::size_t size() const { return units_.size(); }
  const Unit& unit(UnitIndex u) const { return units_[u]; }
  std::span<const UnitIndex> before(UnitIndex u) const { return slice(before_, u); }
  std::span<const UnitIndex> after(UnitIndex u) const { return slice(after_, u); }
  std::span<const UnitTouch> touches(UnitIndex u) const {
    return std::span(touches_).subspan(touches_begin_[u], touches_begin_[u + 1] - touches_begin_[u]);
  }
  std::span<const UnitIndex> touched_by(std::uint32_t buffer) const { return slice(touched_by_, buffer); }
  std::size_t buffers() const { return bytes_.size(); }
  Size bytes(std::uint32_t buffer) const { return bytes_[buffer]; }
  bool kept(std::uint32_t buffer) const { return kept_[buffer]; }
  Size input_bytes() const { return input_bytes_; }
  std::uint32_t lanes() const { return lanes_; }
  std::span<const StepIndex> steps_of(UnitIndex u) const { return slice(steps_of_, u); }
  UnitIndex unit_of(StepIndex step) const { return unit_of_[step]; }
  std::span<const MergeClass> classes() const { return classes_; }
  Time merged_time(std::uint32_t merge_class, Size moved) const {
    return classes_[merge_class].time(Bytes(moved)).picoseconds;
  }

  // The units in the order of an order of steps: each where the first (a collective's: the last) of its steps is. Empty if the
  // buckets make a cycle.
  std::vector<UnitIndex> order_of(std::span<const StepIndex> steps) const;
  std::vector<UnitIndex> topological() const { return order_of(steps_.original_order()); }
  // All steps, inputs in front and the output last.
  std::vector<StepIndex> steps_in(std::span<const UnitIndex> order) const;

 private:
  struct Lists {
    std::vector<std::uint32_t> begin, elements;
  };
  static std::span<const std::uint32_t> slice(const Lists& lists, std::uint32_t index) {
    return std::span(lists.elements).subspan(lists.begin[index], lists.begin[index + 1] - lists.begin[index]);
  }
  void make_units(const Grouping& grouping, const Buckets& buckets);
  void sort_collective(UnitIndex u);
  void make_edges();
  void make_touches();

  const StepGraph& steps_;
  std::span<const MergeClass> classes_;
  std::vector<Unit> units_;
  std::vector<UnitIndex> unit_of_;  // by step
  Lists steps_of_, before_, after_, touched_by_;
  std::vector<std::uint32_t> touches_begin_;
  std::vector<UnitTouch> touches_;
  std::vector<Size> bytes_;
  std::vector<bool> kept_;
  Size input_bytes_ = 0;
  std::uint32_t lanes_ = 0;
  std::vector<StepIndex> front_;
  std::vector<bool> late_;  // by step: a view of what its unit's collective gives
};

}  // namespace hocket::overlap
