// How long a round takes says how far apart the cores of the ranks are: 100 ns where they share a cache, 300 where they don't. Which
// algorithm is the fastest depends on it, and a host may change it at any time by moving the cores of a virtual machine.
#pragma once

#include "comm/rounds.h"

namespace hocket {

// Some rounds of a call that has begun; the fastest as the first place has measured it, the same on all ranks. Takes 2 to 10 µs.
Result<std::int64_t> round_time_ns(Rounds& rounds);

}  // namespace hocket
