// A communication on tensors that was started: what AsyncTensors refer to.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include "hocket/comm/group.h"
#include "hocket/comm/work.h"
#include "hocket/torch/async_tensor.h"

namespace hocket {

// May be used from several threads, once it was put together.
class Communication {
 public:
  // `op` is the operator's name, which stays.
  Communication(const char* op, GroupHandle group);
  ~Communication();
  Communication(const Communication&) = delete;
  Communication& operator=(const Communication&) = delete;

  // A part of it, that has been started. Throws if it was wrong from the begin.
  void add(Work work);
  // What is left to do when the data is there, by the first who waits.
  void then(std::function<void()> last_step) { last_step_ = std::move(last_step); }

  bool done() const;
  // Somebody has waited for it, and all is well.
  bool complete() const { return complete_.load(std::memory_order_acquire); }
  // Throws CollectiveError if it failed, every time.
  void wait();

 private:
  [[noreturn]] void fail_with(const Error& error, const std::string& call) const;

  const char* op_;
  GroupHandle group_;
  std::vector<Work> works_;
  std::function<void()> last_step_;
  std::mutex mutex_;  // who waits and does the last step
  std::atomic<bool> complete_ = false;
  std::atomic<bool> waited_ = false;
};

}  // namespace hocket
