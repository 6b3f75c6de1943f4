// A number in shared memory that one rank raises and others wait for.
//
//   raise(flag, 7);                                          // here
//   HOCKET_CHECK(wait_for(flag, 7, {watch, rank, policy, deadline}));   // there
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>

#include "comm/peer_watch.h"

namespace hocket {

// Zeroed memory is a flag that was never raised. Give it 128 bytes, together with what is read along with it and nothing else:
// processors fetch cache lines in pairs.
struct Flag {
  std::atomic<std::uint32_t> number;
  std::atomic<std::uint32_t> sleepers;
};
static_assert(std::atomic<std::uint32_t>::is_always_lock_free);

// First spin, then yield the core to others, then sleep in the kernel.
struct WaitPolicy {
  std::chrono::nanoseconds spin{};
  std::chrono::nanoseconds yield{};

  // Spinning pays only while every rank has a core: a wake-up takes 30 to 65 µs, a rank that spins on the core of the one that
  // it waits for costs whole time slices.
  static WaitPolicy for_ranks(std::int64_t ranks, std::int64_t cores);
};

// The cores that this process may run on.
std::int64_t usable_cores();

struct Waiting {
  const PeerWatch& watch;
  std::int32_t rank;  // who raises the flag
  WaitPolicy policy;
  Deadline deadline;
};

// Only one rank raises a flag, and the number only goes up; it may wrap around, as long as nobody lags behind by 2^31.
//
// Memory order: all that the raising thread wrote before raise(flag, n) is visible to a thread after wait_for(flag, n) or
// raised(flag, n) has said yes (release, acquire). raise() and going to sleep are sequentially consistent with each other:
// either the sleeper sees the new number or the raiser sees the sleeper, so no wake-up is lost.
void raise(Flag& flag, std::uint32_t number);
bool raised(const Flag& flag, std::uint32_t number);

// An error of kind `peer` if the rank ends without having raised it (noticed within 20 ms), or at the deadline.
Status wait_for(Flag& flag, std::uint32_t number, const Waiting& waiting);

}  // namespace hocket
