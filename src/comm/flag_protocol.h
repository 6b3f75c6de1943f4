// The steps of a flag and of the rounds whose order matters, without the kernel and for any kind of atomics: flag.cpp and rounds.h
// use them, and tests/model checks the same code with every interleaving and every stale read that the language allows.
#pragma once

#include <atomic>
#include <cstdint>
#include <type_traits>

#include "base/sanitizers.h"

namespace hocket {

// The number goes into the store buffer right behind the data that shares its cache line, so both reach the readers at once. A
// store that is itself a barrier would first let the data go, and the readers, who look all the time, take the line away before
// the number is in it. Hence a fence.
struct FencedOrders {
  static constexpr auto publish = std::memory_order_release;
  static constexpr auto look = std::memory_order_acquire;
  // The raiser writes the number and then looks for sleepers, the sleeper announces itself and then looks at the number. With a
  // fence between the two on both sides, at least one sees what the other wrote.
  static constexpr auto sleepers = std::memory_order_relaxed;
  static constexpr auto number_again = std::memory_order_relaxed;
  static void fence_of_raiser() { std::atomic_thread_fence(std::memory_order_seq_cst); }
  static void fence_of_sleeper() { std::atomic_thread_fence(std::memory_order_seq_cst); }
};

// The same for ThreadSanitizer, which knows no fences.
struct OrdersWithoutFences {
  static constexpr auto publish = std::memory_order_seq_cst;
  static constexpr auto look = std::memory_order_acquire;
  static constexpr auto sleepers = std::memory_order_seq_cst;
  static constexpr auto number_again = std::memory_order_seq_cst;
  static void fence_of_raiser() {}
  static void fence_of_sleeper() {}
};

using FlagOrders = std::conditional_t<under_thread_sanitizer, OrdersWithoutFences, FencedOrders>;

template <class Orders = FlagOrders>
struct FlagProtocol {
  // True if somebody sleeps, or is about to, and must be woken.
  template <class Flag>
  static bool raise(Flag& flag, std::uint32_t number) {
    flag.number.store(number, Orders::publish);
    Orders::fence_of_raiser();
    return flag.sleepers.load(Orders::sleepers) != 0;
  }

  // The same for a flag that several ranks raise by one: a bell.
  template <class Flag>
  static bool ring(Flag& flag) {
    flag.number.fetch_add(1, Orders::publish);
    Orders::fence_of_raiser();
    return flag.sleepers.load(Orders::sleepers) != 0;
  }

  template <class Flag>
  static bool raised(const Flag& flag, std::uint32_t number) {
    return static_cast<std::int32_t>(flag.number.load(Orders::look) - number) >= 0;
  }

  // `sleep(seen)` returns at once if the flag's number is not `seen` any more, else when it is woken.
  template <class Flag, class Sleep>
  static void sleep_until_raised(Flag& flag, std::uint32_t number, const Sleep& sleep) {
    flag.sleepers.fetch_add(1, Orders::sleepers);
    Orders::fence_of_sleeper();
    const std::uint32_t seen = flag.number.load(Orders::number_again);
    if (static_cast<std::int32_t>(seen - number) < 0) sleep(seen);
    flag.sleepers.fetch_sub(1, std::memory_order_relaxed);
  }
};

// Rounds use slots in turn. A rank raises its flag of a round after it has read all of the round before, so who has seen the
// flags of round n-(count-1) of all others may overwrite the slot of round n-count.
template <std::uint32_t count>
struct Turns {
  static constexpr std::uint32_t slot_of(std::uint32_t round) { return round % count; }
  static constexpr std::uint32_t seen_before(std::uint32_t round) { return round - (count - 1); }
  // Ranks pass their slots on after every `count` rounds: each writes where it has read before. Those lines are in its own
  // cache; lines that it wrote and others have read would first have to come back, which takes several times as long.
  static constexpr std::uint32_t owner_of(std::uint32_t place, std::uint32_t round, std::uint32_t places) {
    return (place + round / count) % places;
  }
};

}  // namespace hocket
