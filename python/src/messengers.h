// Threads that tell Python's world of what is done. What they call may take long, may wait for another communication, and may not
// hold up the thread that communicates.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>

namespace hocket {

class Messengers {
 public:
  // Of this process; they stay until it ends, since nobody can say when the last of what they call is over.
  static Messengers& all();

  // Soon, in another thread, though all others may be busy.
  void send(std::function<void()> errand);

 private:
  Messengers() = default;
  void run();

  std::mutex mutex_;  // guards what follows
  std::condition_variable something_;
  std::deque<std::function<void()>> errands_;
  std::size_t idle_ = 0;
};

}  // namespace hocket
