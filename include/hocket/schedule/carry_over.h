// Gives a program a tail that is worth carrying into its next run (hocket/ir/tail.h): waits for communication, and what depends on
// them, go to the end. Some of the communication is started last, so that it is under way beside the next run's beginning and what that
// run needs first does not stand in line behind it; some of it is computed last, too, so that what the next run needs first travels
// meanwhile.
//
//   HOCKET_TRY(const CarryOver carried, carry_over(program, cost.times(program)));
//   carried.period < carried.period_before
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "hocket/schedule/step_graph.h"

namespace hocket {

struct CarryOver {
  std::vector<StepIndex> order;  // the old positions in their new order; as they were if nothing is gained
  std::size_t carried = 0;       // collectives that the tail waits for
  std::size_t postponed = 0;     // of these: started after all others
  std::size_t deferred = 0;      // steps that are computed for them after all others have started
  // What a run takes where many follow each other, as the program was given and in the new order.
  Nanoseconds period_before, period;
};

// `fits`: whether the program may be in this order; all may, if absent.
Result<CarryOver> carry_over(const Program& program, std::span<const Nanoseconds> times,
                             const std::function<bool(const Program&)>& fits = nullptr);

// What each of many runs takes, by the two-lane model, if every one carries its tail into the next.
Nanoseconds period_of(const Program& program, std::span<const Nanoseconds> times);

}  // namespace hocket
