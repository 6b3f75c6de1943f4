#include "comm/lane_threads.h"

#include <algorithm>

#include "comm/prompt_thread.h"
#include "comm/runner.h"

namespace hocket {

// Outlives the LaneThreads in the one thread that may itself have dropped the last reference to it.
struct LaneThreads::Shared {
  mutable std::mutex mutex;
  std::condition_variable changed;
  std::condition_variable rested;  // one of them is idle again
  std::deque<std::shared_ptr<Runner>> waiting;
  std::vector<std::thread> threads;
  std::size_t idle = 0;
  std::size_t runners = 0;
  bool ending = false;
};

LaneThreads::LaneThreads() : shared_(std::make_shared<Shared>()) {}

LaneThreads::~LaneThreads() {
  {
    const std::lock_guard lock(shared_->mutex);
    shared_->ending = true;
  }
  shared_->changed.notify_all();
  for (std::thread& thread : shared_->threads) {
    if (thread.get_id() == std::this_thread::get_id()) thread.detach();
    else thread.join();
  }
}

void LaneThreads::add_runner() {
  const std::lock_guard lock(shared_->mutex);
  ++shared_->runners;
}

void LaneThreads::remove_runner() {
  const std::lock_guard lock(shared_->mutex);
  --shared_->runners;
}

// Only one thread at a time stays with a runner. So with a thread for each runner there is one that is idle or soon will be.
void LaneThreads::run(std::shared_ptr<Runner> runner) {
  const std::lock_guard lock(shared_->mutex);
  shared_->waiting.push_back(std::move(runner));
  if (shared_->waiting.size() > shared_->idle && shared_->threads.size() < shared_->runners) {
    shared_->threads.emplace_back([shared = shared_] { loop(shared); });
    ++shared_->idle;
  }
  shared_->changed.notify_one();
}

void LaneThreads::rest(std::chrono::milliseconds longest) const {
  std::unique_lock lock(shared_->mutex);
  const auto is_caller = [](const std::thread& thread) { return thread.get_id() == std::this_thread::get_id(); };
  const auto busy_here = static_cast<std::size_t>(std::ranges::count_if(shared_->threads, is_caller));
  shared_->rested.wait_for(
      lock, longest, [&] { return shared_->waiting.empty() && shared_->idle + busy_here == shared_->threads.size(); });
}

std::size_t LaneThreads::count() const {
  const std::lock_guard lock(shared_->mutex);
  return shared_->threads.size();
}

// `idle` counts the threads that wait for a lane, or will without doing anything else before.
void LaneThreads::loop(const std::shared_ptr<Shared>& shared) {
  become_prompt("hocket-lane");
  std::unique_lock lock(shared->mutex);
  for (;;) {
    shared->changed.wait(lock, [&] { return shared->ending || !shared->waiting.empty(); });
    if (shared->waiting.empty()) return;
    std::shared_ptr<Runner> runner = std::move(shared->waiting.front());
    shared->waiting.pop_front();
    --shared->idle;
    lock.unlock();
    runner->drain();
    runner.reset();
    lock.lock();
    ++shared->idle;
    shared->rested.notify_all();
  }
}

}  // namespace hocket
