#include "comm/flag.h"

#include <linux/futex.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <limits>

namespace hocket {

namespace {

using Clock = std::chrono::steady_clock;

constexpr auto longest_sleep = std::chrono::milliseconds(20);  // between two looks whether the other rank lives
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

bool reached(std::uint32_t current, std::uint32_t number) { return static_cast<std::int32_t>(current - number) >= 0; }

bool spin_until_raised(const Flag& flag, std::uint32_t number, std::chrono::nanoseconds time) {
  if (time.count() == 0) return raised(flag, number);
  const auto end = Clock::now() + time;
  do {
    for (int i = 0; i < spins_between_looks_at_the_clock; ++i) {
      if (raised(flag, number)) return true;
      relax();
    }
  } while (Clock::now() < end);
  return false;
}

bool yield_until_raised(const Flag& flag, std::uint32_t number, std::chrono::nanoseconds time) {
  const auto end = Clock::now() + time;
  do {
    if (raised(flag, number)) return true;
    sched_yield();
  } while (Clock::now() < end);
  return false;
}

void sleep_until_changed(Flag& flag, std::uint32_t number, std::chrono::nanoseconds time) {
  flag.sleepers.fetch_add(1, std::memory_order_seq_cst);
  const std::uint32_t seen = flag.number.load(std::memory_order_seq_cst);
  if (!reached(seen, number)) sleep_while(flag.number, seen, time);
  flag.sleepers.fetch_sub(1, std::memory_order_relaxed);
}

}  // namespace

WaitPolicy WaitPolicy::for_ranks(std::int64_t ranks, std::int64_t cores) {
  using std::chrono::microseconds;
  if (ranks <= cores) return {microseconds(50), microseconds(50)};
  return {microseconds(0), microseconds(200)};
}

std::int64_t usable_cores() {
  cpu_set_t cores;
  if (sched_getaffinity(0, sizeof cores, &cores) == 0) return CPU_COUNT(&cores);
  return std::max<std::int64_t>(sysconf(_SC_NPROCESSORS_ONLN), 1);  // more cores than a cpu_set_t has room for
}

void raise(Flag& flag, std::uint32_t number) {
  flag.number.store(number, std::memory_order_seq_cst);
  if (flag.sleepers.load(std::memory_order_seq_cst) != 0) wake_all(flag.number);
}

bool raised(const Flag& flag, std::uint32_t number) {
  return reached(flag.number.load(std::memory_order_acquire), number);
}

Status wait_for(Flag& flag, std::uint32_t number, const Waiting& waiting) {
  if (spin_until_raised(flag, number, waiting.policy.spin)) return {};
  if (yield_until_raised(flag, number, waiting.policy.yield)) return {};
  for (;;) {
    // Who has ended may have raised the flag before, so that is looked at last.
    const Status alive = waiting.watch.check(waiting.rank);
    if (raised(flag, number)) return {};
    if (!alive) return alive;
    const auto left = waiting.deadline - Clock::now();
    if (left.count() <= 0) {
      return fail(ErrorKind::peer, "rank {} (pid {}) is alive but did not come in time: it is at {}, expected {}",
                  waiting.rank, waiting.watch.pid(waiting.rank), flag.number.load(std::memory_order_relaxed), number);
    }
    sleep_until_changed(flag, number, std::min<std::chrono::nanoseconds>(left, longest_sleep));
  }
}

}  // namespace hocket
