// When every step runs, by the two-lane model: one compute lane in the order of the program, one lane for each set of ranks in the
// order of issue. A collective is issued when the compute lane reaches it and starts when its lane is free; a wait holds the
// compute lane until its collective has ended.
//
//   const Timeline line = timeline(steps, order);
//   line.step_time, line.exposed, line.begin[step], line.end[step]
#pragma once

#include <algorithm>
#include <span>
#include <vector>

#include "hocket/schedule/step_graph.h"

namespace hocket {

struct Timeline {
  Nanoseconds step_time;           // until the last lane is done
  Nanoseconds compute;             // busy time of the compute lane
  Nanoseconds exposed;             // time in which the compute lane stood still, its tail included
  std::vector<Nanoseconds> begin;  // by step
  std::vector<Nanoseconds> end;    // by step; of a collective: when its lane is done with it
  std::vector<Nanoseconds>
      stood;  // by step: how long the compute lane stood still for it; of a collective: at its waits
};

Timeline timeline(const StepGraph& steps, std::span<const StepIndex> order);

// Memory held while each step of an order runs, by position, and the peak.
struct MemoryCurve {
  std::vector<Bytes> live;
  Bytes peak;
  std::size_t peak_at = 0;  // position
};
MemoryCurve memory_curve(const StepGraph& steps, std::span<const StepIndex> order);

// No order of these steps takes less.
struct TimeBound {
  Nanoseconds compute;
  Nanoseconds busiest_lane;
  Nanoseconds critical_path;
  Nanoseconds best() const { return std::max({compute, busiest_lane, critical_path}); }
};
TimeBound time_bound(const StepGraph& steps);

}  // namespace hocket
