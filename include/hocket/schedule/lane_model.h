// A machine whose lanes are not independent: collectives that share links share their bandwidth, compute slows down while something is
// communicated, and every step costs a launch. The two-lane model of timeline.h is the special case of none of these.
//
//   LaneModel model;
//   model.links = {{0}, {0, 1}};          // lane 0 stays inside the host, lane 1 uses the host's links and the network
//   model.compute_slowdown = 1.08;
//   const Nanoseconds step = modelled_step_time(steps, order, model);
//
// Lanes with different links run at once at full speed. A lane still runs its collectives one after the other.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "hocket/schedule/step_graph.h"

namespace hocket {

struct LaneModel {
  // By lane: the links that its collectives use. Of k collectives on a link each goes at 1/k of its speed. A lane that is not
  // listed has a link of its own.
  std::vector<std::vector<std::uint32_t>> links;
  double compute_slowdown = 1;  // compute takes so many times longer while a collective is under way; at least 1
  Nanoseconds launch;           // of every step that takes time, on the compute lane
};

// What the compute lane does, one after the other.
struct LaneEvent {
  enum class Kind : std::uint8_t { compute, issue, wait };
  Kind kind = Kind::compute;
  std::uint32_t lane = 0;        // of an issue
  std::uint32_t collective = 0;  // of an issue and of its waits: a number from 0 on
  Nanoseconds time;              // of compute, or of the collective alone on its links
};

// When the last lane is done.
Nanoseconds run_lanes(std::span<const LaneEvent> events, std::size_t lanes, const LaneModel& model);

// The same for an order of steps.
Nanoseconds modelled_step_time(const StepGraph& steps, std::span<const StepIndex> order, const LaneModel& model);

}  // namespace hocket
