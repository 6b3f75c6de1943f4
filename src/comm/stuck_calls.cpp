#include "comm/stuck_calls.h"

#include <fmt/format.h>

#include <cstdio>
#include <cstdlib>
#include <utility>

namespace hocket {

StuckCalls::~StuckCalls() {
  if (!watcher_.joinable()) return;
  {
    const std::lock_guard lock(mutex_);
    leaving_ = true;
  }
  left_.notify_one();
  watcher_.join();
}

std::atomic<std::uint64_t>& StuckCalls::passages_of_this_thread() {
  static std::atomic<std::size_t> threads = 0;
  thread_local const std::size_t place = threads.fetch_add(1) % places;
  return passages_[place];
}

void StuckCalls::watch(std::string library, std::chrono::milliseconds longest) {
  watcher_ = std::thread([this, library = std::move(library), longest] { look_until_left(library, longest); });
}

void StuckCalls::look_until_left(const std::string& library, std::chrono::milliseconds longest) {
  // Looks, and not a clock, tell how long: a process that was stopped for a while has not been stuck.
  constexpr int most_looks = 20;
  struct Seen {
    std::uint64_t passages = 0;
    int looks = 0;
  };
  std::array<Seen, places> seen{};
  std::unique_lock lock(mutex_);
  while (!left_.wait_for(lock, longest / most_looks, [this] { return leaving_; })) {
    for (std::size_t place = 0; place < places; ++place) {
      const std::uint64_t passages = passages_[place];
      const bool moved = std::exchange(seen[place].passages, passages) != passages;
      seen[place].looks = moved || passages % 2 == 0 ? 0 : seen[place].looks + 1;
      if (seen[place].looks < most_looks) continue;
      fmt::print(stderr,
                 "hocket: {} has not come back from a call for {} ms since another rank died or failed, and can't be "
                 "interrupted: this rank ends\n",
                 library, longest.count());
      std::fflush(stderr);
      std::_Exit(exit_code);
    }
  }
}

}  // namespace hocket
