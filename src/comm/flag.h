// A number in shared memory that one rank raises and others wait for.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>

#include "comm/deadline.h"
#include "comm/flag_protocol.h"

namespace hocket {

// Zeroed memory is a flag that was never raised. It shares its cache line with what is read along with it and nothing else.
struct Flag {
  std::atomic<std::uint32_t> number;
  std::atomic<std::uint32_t> sleepers;
};
static_assert(std::atomic<std::uint32_t>::is_always_lock_free);

// First spin, then yield the core to others, then sleep in the kernel.
struct WaitPolicy {
  std::chrono::nanoseconds spin{};
  std::chrono::nanoseconds yield{};
  std::int64_t ranks = 1;       // that wait for each other on these cores
  bool minds_strangers = true;  // sleeps once it has met a process that computes on these cores (strangers.h)

  // Spinning pays only while every rank has a core: a wake-up takes 30 to 65 µs, a rank that spins on the core of the one that
  // it waits for costs whole time slices.
  static WaitPolicy for_ranks(std::int64_t ranks, std::int64_t cores);
};

// The processors that this process may run on.
std::int64_t processor_count();

// Only one rank raises a flag, and the number only goes up; it may wrap around, as long as nobody lags behind by 2^31.
//
// Memory order: all that the raising thread wrote before raise(flag, n) is visible to a thread after raised(flag, n) or
// spin_until_raised(flag, n, …) has said yes (release, acquire). Between raise() and going to sleep there are fences: either the
// sleeper sees the new number or the raiser sees the sleeper, so no wake-up is lost. flag_protocol.h has the steps.
void raise(Flag& flag, std::uint32_t number);
inline bool raised(const Flag& flag, std::uint32_t number) { return FlagProtocol<>::raised(flag, number); }
// Adds one to a flag that several ranks raise. The order is that of raise().
void ring(Flag& bell);

// Looks a few times, which takes about as long as an answer of another core. True once the flag is raised.
bool spin_briefly_until_raised(const Flag& flag, std::uint32_t number);
// Spins and yields as the policy says. True once the flag is raised.
bool spin_until_raised(const Flag& flag, std::uint32_t number, const WaitPolicy& policy);
// Sleeps until the flag is raised, somebody calls wake(), or the time is over; may also return for no reason.
void sleep_until_raised(Flag& flag, std::uint32_t number, std::chrono::nanoseconds time);
// Wakes all who sleep, to look at something else.
void wake(Flag& flag);

}  // namespace hocket
