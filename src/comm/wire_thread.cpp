#include "comm/wire_thread.h"

#include <pthread.h>

namespace hocket {

WireThread::WireThread() : thread_([this] { serve(); }) { pthread_setname_np(thread_.native_handle(), "hocket-wire"); }

WireThread::~WireThread() {
  {
    const std::lock_guard lock(mutex_);
    leaving_ = true;
  }
  asked_.notify_one();
  thread_.join();
}

void WireThread::run(const std::function<void()>& body) {
  Job job{&body};
  std::unique_lock lock(mutex_);
  jobs_.push_back(&job);
  asked_.notify_one();
  answered_.wait(lock, [&] { return job.done; });
}

void WireThread::serve() {
  std::unique_lock lock(mutex_);
  for (;;) {
    asked_.wait(lock, [this] { return leaving_ || !jobs_.empty(); });
    if (jobs_.empty()) return;
    Job* job = jobs_.front();
    jobs_.pop_front();
    lock.unlock();
    (*job->body)();
    lock.lock();
    job->done = true;
    answered_.notify_all();
  }
}

}  // namespace hocket
