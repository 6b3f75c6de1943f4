// The longest paths through a program: what must come before and behind each step, and the longest of all.
#pragma once

#include <cstdint>
#include <vector>

#include "hocket/schedule/step_graph.h"

namespace hocket {

std::vector<std::int64_t> times_of(const StepGraph& steps);  // in picoseconds

class Paths {
 public:
  enum class Weigh : std::uint8_t { everything, collectives };  // by what a path is long

  // `times` are by step, in picoseconds.
  Paths(const StepGraph& steps, std::vector<std::int64_t> times, Weigh weigh = Weigh::everything);

  std::int64_t time(StepIndex step) const;
  // From its first step to its last.
  std::vector<StepIndex> longest() const;

  std::vector<std::int64_t> head, tail;  // the longest path to and from each step, without itself

 private:
  bool needs_end(StepIndex earlier, StepIndex later) const {
    return steps_.kind(earlier) != StepKind::collective || steps_.kind(later) == StepKind::wait;
  }

  const StepGraph& steps_;
  std::vector<std::int64_t> times_;
  Weigh weigh_;
  std::vector<StepIndex> from_;  // the step before on the longest path to each
};

// A step of a lane: the earliest that it can begin, its time, and what is needed behind it.
struct LaneJob {
  std::int64_t head, time, tail;  // picoseconds
};
// The end of the best schedule of one lane in which jobs may be interrupted.
std::int64_t preemptive_end(std::vector<LaneJob> jobs);

}  // namespace hocket
