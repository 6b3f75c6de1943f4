// Why a collective is exposed, and what would help.
//
//   const Explanation why = explain(steps, order, collective, limit);
//   fmt::print("{}", in_words(why, steps));
#pragma once

#include <optional>
#include <span>
#include <string>

#include "hocket/schedule/iterative.h"

namespace hocket {

// What comes of moving a collective earlier or its wait later, everything else as it is.
struct Attempt {
  CollectiveMove move;    // how far it gets, and what stops it
  Nanoseconds exposed;    // of the collective, then
  Nanoseconds step_time;  // of the whole step, then
  Bytes peak;
};

struct Explanation {
  StepIndex collective = no_step;
  Nanoseconds time;
  Nanoseconds issued, begin, end;      // when it is issued, starts and ends
  StepIndex behind = no_step;          // the collective of its lane that it had to wait for
  std::optional<Nanoseconds> awaited;  // when its wait comes; absent if nobody waits
  Nanoseconds exposed;
  Nanoseconds step_time;
  Bytes peak, limit;
  // Within the limit, with all the memory one could wish, and where collectives may change places too.
  Attempt earlier, earlier_with_memory, earlier_out_of_order;
  Attempt later, later_with_memory;
};

// `free_order` has the same steps without the order of collectives (StepGraphOptions::keep_collective_order off).
Explanation explain(const StepGraph& steps, const StepGraph& free_order, std::span<const StepIndex> order,
                    StepIndex collective, Bytes limit);

std::string in_words(const Explanation& why, const StepGraph& steps);

}  // namespace hocket
