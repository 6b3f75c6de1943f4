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

// From here on a wait is better slept through: in slices, so that the end is not missed by much and the wire, which only moves
// when somebody looks, never runs dry; a gigabit link takes 64 KiB in the longest slice.
constexpr std::chrono::microseconds worth_sleeping{200};
constexpr std::chrono::microseconds shortest_slice{50};
constexpr std::chrono::microseconds longest_slice{500};

}  // namespace

Patience::Patience(Deadline deadline, Rhythm* rhythm) : deadline_(deadline), rhythm_(rhythm) {
  const auto usual = rhythm ? rhythm->usual() : std::chrono::nanoseconds{};
  if (usual >= worth_sleeping) slice_ = std::clamp<std::chrono::nanoseconds>(usual / 4, shortest_slice, longest_slice);
}

void Patience::came() {
  if (rhythm_ && pauses_ > 0) rhythm_->waited(std::chrono::steady_clock::now() - start_);
}

std::chrono::nanoseconds Patience::next() {
  pauses_ = std::min(pauses_ + 1, eager_looks + yields + longest_sleep);
  if (slice_.count() > 0) return slice_;
  if (pauses_ <= eager_looks) return {};
  if (pauses_ > eager_looks + yields) return shortest_sleep * (pauses_ - eager_looks - yields);
  sched_yield();
  return {};
}

void Patience::pause() {
  if (const auto time = next(); time.count() > 0) std::this_thread::sleep_for(time);
}

Status wait_for_all(std::span<const RequestHandle> requests, Deadline deadline, std::string_view what, const Look& look,
                    Rhythm* rhythm) {
  for (const RequestHandle& request : requests) {
    if (!request) continue;
    Patience patience(deadline, rhythm);
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
    patience.came();
  }
  return {};
}

}  // namespace hocket
