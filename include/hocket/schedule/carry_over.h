// Gives a program a tail that is worth carrying into its next run (hocket/ir/tail.h): waits for communication, and what depends on
// them, go to the end. Some of the communication is started last, so that it is under way beside the next run's beginning and what that
// run needs first does not stand in line behind it.
//
//   HOCKET_TRY(const CarryOver carried, carry_over(program, cost.times(program)));
//   carried.period < carried.period_before
#pragma once

#include <span>
#include <vector>

#include "hocket/schedule/step_graph.h"

namespace hocket {

struct CarryOver {
  std::vector<StepIndex> order;  // the old positions in their new order; as they were if nothing is gained
  std::size_t carried = 0;       // collectives that the tail waits for
  std::size_t postponed = 0;     // of these: started after all others
  // What a run takes where many follow each other, as the program was given and in the new order.
  Nanoseconds period_before, period;
};

Result<CarryOver> carry_over(const Program& program, std::span<const Nanoseconds> times);

// What each of many runs takes, by the two-lane model, if every one carries its tail into the next.
Nanoseconds period_of(const Program& program, std::span<const Nanoseconds> times);

}  // namespace hocket
