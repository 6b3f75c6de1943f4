// Threads that run calls for callers who do something else meanwhile. As many as there were runners busy at the same time;
// they stay until the end.
#pragma once

#include <chrono>
#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

namespace hocket {

class Runner;

class LaneThreads {
 public:
  LaneThreads();
  // Waits for the threads, which finish what they are at.
  ~LaneThreads();
  LaneThreads(const LaneThreads&) = delete;
  LaneThreads& operator=(const LaneThreads&) = delete;

  // There is one runner more that may have to run at the same time as all others; one less.
  void add_runner();
  void remove_runner();
  // Some thread will call runner->drain(), at once: if all are busy there is a new one.
  void run(std::shared_ptr<Runner> runner);
  // Waits until no other thread is at a runner any more, for so long at most: one may be at calls that others don't come to.
  void rest(std::chrono::milliseconds longest) const;
  std::size_t count() const;

 private:
  struct Shared;
  static void loop(const std::shared_ptr<Shared>& shared);
  std::shared_ptr<Shared> shared_;
};

}  // namespace hocket
