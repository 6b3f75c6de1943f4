// A communication that was started.
//
//   Work work = group.all_reduce(gradient, gradient, count, Dtype::f32, ReduceOp::sum);
//   compute();                      // meanwhile
//   HOCKET_CHECK(work.wait());
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>

#include "hocket/base/error.h"

namespace hocket {

class WorkState;

// A value; copies are the same communication. The caller keeps the buffers until it is done; dropping a Work neither cancels
// it nor waits for it.
class Work {
 public:
  Work() = default;  // done, and well
  explicit Work(std::shared_ptr<WorkState> state) : state_(std::move(state)) {}
  static Work failed(Error error);

  bool done() const;
  // Returns when the communication is complete, or says why it never will be; any number of times, from any thread. The
  // waiting thread does the work itself where no other has begun it.
  Status wait() const;
  // The same, but gives up after a while: false means that it is still going on.
  Result<bool> wait_for(std::chrono::nanoseconds time) const;
  // "all_reduce(f32[1024], sum) as call 7 at train.cpp:31", of one that was waited for; empty where nothing is known.
  std::string call_text() const;
  // When it was complete. Nothing before that, and for a blocking call, which is complete when it returns.
  std::optional<std::chrono::steady_clock::time_point> finished_at() const;

 private:
  std::shared_ptr<WorkState> state_;  // null: done
};

}  // namespace hocket
