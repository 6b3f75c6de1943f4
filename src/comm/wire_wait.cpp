#include <sched.h>

#include <algorithm>
#include <thread>

#include "comm/wire.h"

namespace hocket {

namespace {

// A message takes 20 µs and more from host to host: looking again at once pays for about that long.
constexpr int eager_looks = 20;
constexpr int yields = 100;
constexpr std::chrono::microseconds shortest_sleep{10};
constexpr int longest_sleep = 10;  // times the shortest one; a gigabit link needs 100 µs for 12 KiB

}  // namespace

std::chrono::nanoseconds Patience::next() {
  pauses_ = std::min(pauses_ + 1, eager_looks + yields + longest_sleep);
  if (pauses_ <= eager_looks) return {};
  if (pauses_ > eager_looks + yields) return shortest_sleep * (pauses_ - eager_looks - yields);
  sched_yield();
  return {};
}

void Patience::pause() {
  if (const auto time = next(); time.count() > 0) std::this_thread::sleep_for(time);
}

Status wait_for_all(std::span<const RequestHandle> requests, Deadline deadline, std::string_view what,
                    const std::function<Status()>& look) {
  for (const RequestHandle& request : requests) {
    if (!request) continue;
    Patience patience(deadline);
    for (;;) {
      HOCKET_TRY(const bool done, request->test());
      if (done) break;
      if (look) HOCKET_CHECK(look());
      if (patience.over()) {
        return fail(ErrorKind::peer, "rank {} did not come to {} in time: it is stuck, or its host can't be reached",
                    request->peer(), what);
      }
      patience.pause();
    }
  }
  return {};
}

}  // namespace hocket
