#include "hocket/comm/work.h"

#include <thread>

#include "comm/runner.h"

namespace hocket {

Work Work::failed(Error error) { return Work(std::make_shared<WorkState>(fail(std::move(error)))); }

bool Work::done() const { return !state_ || state_->done.load(std::memory_order_acquire) != 0; }

Status Work::wait() const {
  if (!state_) return {};
  while (!done()) {
    // A runner that is gone has completed all its calls, and this thread is about to see it.
    if (const auto runner = state_->runner.lock()) runner->help(*state_);
    else state_->done.wait(0, std::memory_order_acquire);
  }
  return state_->status;
}

std::string Work::call_text() const { return state_ ? state_->call_text() : std::string(); }

Result<bool> Work::wait_for(std::chrono::nanoseconds time) const {
  using namespace std::chrono_literals;
  const auto end = std::chrono::steady_clock::now() + time;
  for (std::chrono::nanoseconds pause = 1us; !done(); pause = std::min<std::chrono::nanoseconds>(pause * 2, 200us)) {
    if (std::chrono::steady_clock::now() >= end) return false;
    std::this_thread::sleep_for(pause);
  }
  HOCKET_CHECK(wait());
  return true;
}

std::optional<std::chrono::steady_clock::time_point> Work::finished_at() const {
  if (!state_ || !done() || state_->finished_at.time_since_epoch().count() == 0) return std::nullopt;
  return state_->finished_at;
}

}  // namespace hocket
