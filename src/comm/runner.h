// Somebody who completes calls: the queue of a group's collectives, or its messages.
#pragma once

#include <atomic>
#include <chrono>
#include <memory>
#include <string>

#include "hocket/base/error.h"

namespace hocket {

class Runner;

// One call that is under way. Done when `done` is 1; then `status` doesn't change any more.
class WorkState {
 public:
  explicit WorkState(std::weak_ptr<Runner> its_runner) : runner(std::move(its_runner)) {}
  explicit WorkState(Status result) : status(std::move(result)), done(1) {}
  virtual ~WorkState() = default;
  WorkState(const WorkState&) = delete;
  WorkState& operator=(const WorkState&) = delete;

  void finish(Status result) {
    status = std::move(result);
    keep_alive.reset();
    finished_at = std::chrono::steady_clock::now();
    done.store(1, std::memory_order_release);
    done.notify_all();
  }

  // What was called, when it is done.
  virtual std::string call_text() const { return {}; }

  const std::weak_ptr<Runner> runner;      // alive until it is done
  std::shared_ptr<const void> keep_alive;  // CallOptions has what it is for
  Status status;
  std::chrono::steady_clock::time_point finished_at{};
  std::atomic<std::uint32_t> done = 0;
};

class Runner {
 public:
  virtual ~Runner() = default;
  // Completes this call in the caller's thread, or waits for the thread that does.
  virtual void help(WorkState& state) = 0;
  // Completes all calls; for threads that have nothing else to do.
  virtual void drain() = 0;
};

}  // namespace hocket
