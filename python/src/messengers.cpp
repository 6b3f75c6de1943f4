#include "messengers.h"

#include <thread>

namespace hocket {

Messengers& Messengers::all() {
  static Messengers& messengers = *new Messengers;  // threads may be in it when the process ends
  return messengers;
}

void Messengers::send(std::function<void()> errand) {
  bool enough = false;
  {
    const std::lock_guard lock(mutex_);
    errands_.push_back(std::move(errand));
    enough = idle_ >= errands_.size();
  }
  if (enough) something_.notify_one();
  else std::thread([this] { run(); }).detach();
}

void Messengers::run() {
  std::unique_lock lock(mutex_);
  for (;;) {
    ++idle_;
    something_.wait(lock, [this] { return !errands_.empty(); });
    --idle_;
    std::function<void()> errand = std::move(errands_.front());
    errands_.pop_front();
    lock.unlock();
    errand();
    errand = nullptr;  // its tensors may wait for the interpreter's lock, whose owner may be in send()
    lock.lock();
  }
}

}  // namespace hocket
