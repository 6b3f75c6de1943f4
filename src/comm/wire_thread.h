// One thread that runs what others ask for, one after the other: for a library that may be called from one thread only.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>

namespace hocket {

class WireThread {
 public:
  WireThread();
  ~WireThread();  // after what was asked for

  // Returns when the thread has run it.
  void run(const std::function<void()>& job);

 private:
  struct Job {
    const std::function<void()>* body;
    bool done = false;
  };
  void serve();

  std::mutex mutex_;  // guards all below but the thread
  std::condition_variable asked_;
  std::condition_variable answered_;
  std::deque<Job*> jobs_;
  bool leaving_ = false;
  std::thread thread_;
};

}  // namespace hocket
