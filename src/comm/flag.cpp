#include "comm/flag.h"

#include <linux/futex.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <limits>
#include <utility>

#include "comm/strangers.h"

namespace hocket {

namespace {

using Clock = std::chrono::steady_clock;

constexpr int spins_between_looks_at_the_clock = 64;

// The flag lies in memory shared by processes, hence no FUTEX_PRIVATE_FLAG.
void sleep_while(const std::atomic<std::uint32_t>& number, std::uint32_t seen, std::chrono::nanoseconds time) {
  const timespec timeout{static_cast<time_t>(time.count() / 1'000'000'000),
                         static_cast<long>(time.count() % 1'000'000'000)};
  syscall(SYS_futex, &number, FUTEX_WAIT, seen, &timeout, nullptr, 0);
}

void wake_all(const std::atomic<std::uint32_t>& number) {
  syscall(SYS_futex, &number, FUTEX_WAKE, std::numeric_limits<int>::max(), nullptr, nullptr, 0);
}

void relax() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

bool spin(const Flag& flag, std::uint32_t number, std::chrono::nanoseconds time) {
  if (time.count() == 0) return raised(flag, number);
  const Clock::time_point end = Clock::now() + time;
  do {
    if (spin_briefly_until_raised(flag, number)) return true;
  } while (Clock::now() < end);
  return false;
}

// Where more share a core, a sleeper's wake-up has to queue behind them like everybody, and a stranger has a small part of the core.
constexpr std::int64_t few_ranks_on_a_core = 4;
constexpr std::chrono::microseconds turn_of_a_stranger{500};  // or of a rank with much to copy
thread_local Strangers strangers;

bool yield(const Flag& flag, std::uint32_t number, const WaitPolicy& policy) {
  if (strangers.expected()) return raised(flag, number);
  auto now = Clock::now();
  const auto end = now + policy.yield;
  do {
    if (raised(flag, number)) {
      strangers.not_met();
      return true;
    }
    sched_yield();
    const auto before = std::exchange(now, Clock::now());
    if (now - before > turn_of_a_stranger) {
      // A rank that copies a large block takes its time, too: then there are no more to run than ranks.
      if (policy.minds_strangers && threads_to_run() > policy.ranks) strangers.met();
      break;
    }
  } while (now < end);
  return raised(flag, number);
}

}  // namespace

WaitPolicy WaitPolicy::for_ranks(std::int64_t ranks, std::int64_t cores) {
  using std::chrono::microseconds;
  const bool minds_strangers = ranks <= few_ranks_on_a_core * cores;
  if (ranks <= cores) return {microseconds(50), microseconds(50), ranks, minds_strangers};
  return {microseconds(0), microseconds(200), ranks, minds_strangers};
}

std::int64_t processor_count() {
  cpu_set_t cores;
  if (sched_getaffinity(0, sizeof cores, &cores) == 0) return CPU_COUNT(&cores);
  return std::max<std::int64_t>(sysconf(_SC_NPROCESSORS_ONLN), 1);  // more cores than a cpu_set_t has room for
}

void raise(Flag& flag, std::uint32_t number) {
  if (FlagProtocol<>::raise(flag, number)) wake_all(flag.number);
}

void ring(Flag& bell) {
  if (FlagProtocol<>::ring(bell)) wake_all(bell.number);
}

bool spin_briefly_until_raised(const Flag& flag, std::uint32_t number) {
  for (int i = 0; i < spins_between_looks_at_the_clock; ++i) {
    if (raised(flag, number)) return true;
    relax();
  }
  return false;
}

bool spin_until_raised(const Flag& flag, std::uint32_t number, const WaitPolicy& policy) {
  return raised(flag, number) || spin(flag, number, policy.spin) || yield(flag, number, policy);
}

void sleep_until_raised(Flag& flag, std::uint32_t number, std::chrono::nanoseconds time) {
  FlagProtocol<>::sleep_until_raised(flag, number, [&](std::uint32_t seen) { sleep_while(flag.number, seen, time); });
}

void wake(Flag& flag) { wake_all(flag.number); }

}  // namespace hocket
