// The two-lane model over the front of an order, as far as somebody asked: it advances step by step, and retreats where the order is
// about to change. Both cost one visit for each step.
#pragma once

#include <vector>

#include "hocket/schedule/schedule.h"

namespace hocket {

class Clock {
 public:
  explicit Clock(const StepGraph& steps);

  // Knows the first `positions` positions afterwards.
  void advance(const Schedule& schedule, std::size_t positions);
  // Forgets everything from this position on. The order there must still be the one that it advanced over.
  void retreat(const Schedule& schedule, std::size_t position);

  // When the compute lane reaches a position. For positions it knows.
  Nanoseconds at(std::size_t position) const { return reached_[position]; }
  // When the lane of a collective is free for it, and who used it before. For collectives it knows.
  Nanoseconds lane_free_before(StepIndex collective) const { return free_before_[collective]; }
  StepIndex previous_on_lane(StepIndex collective) const { return previous_[collective]; }

  // Compute of the steps behind `place` and before `end`, for any two positions: moves within a part of the order change no sum from
  // outside of it, so sums are kept for all positions and corrected as the clock advances.
  Nanoseconds compute_between(std::size_t place, std::size_t end) const { return sum_[end] - sum_[place + 1]; }
  // Where the first of a collective's waits stands; behind the last step if nobody waits.
  std::size_t wait_position(const Schedule& schedule, StepIndex collective) const;

 private:
  const StepGraph& steps_;
  std::size_t known_ = 0;             // positions
  std::vector<Nanoseconds> reached_;  // by position, one more than positions
  std::vector<Nanoseconds> sum_;      // by position, one more than positions: compute before it
  bool summed_ = false;
  std::vector<Nanoseconds> end_;          // by collective
  std::vector<Nanoseconds> free_before_;  // by collective
  std::vector<StepIndex> previous_;       // by collective
  std::vector<Nanoseconds> lane_free_;
  std::vector<StepIndex> lane_last_;
  std::vector<std::uint32_t> waits_begin_;  // by step; the waits of a collective
  std::vector<StepIndex> waits_;
};

}  // namespace hocket
