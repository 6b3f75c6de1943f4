// How operator calls get to the recorder: a fallback for all operators on a dispatch key below autograd, which a thread
// switches on for itself while it captures. Other threads and other times notice nothing of it.
#pragma once

#include <c10/core/impl/LocalDispatchKeySet.h>

#include "torch/recorder.h"

namespace hocket {

// The recorder of the capture that this thread is in; nullptr outside.
Recorder* current_recorder();

// While one lives, the operators that this thread calls go to the recorder. The autograd engine runs the backward of
// CPU and meta tensors on the calling thread, so it is captured too.
class CaptureScope {
 public:
  explicit CaptureScope(Recorder& recorder);
  ~CaptureScope();
  CaptureScope(const CaptureScope&) = delete;
  CaptureScope& operator=(const CaptureScope&) = delete;

 private:
  c10::impl::IncludeDispatchKeyGuard listen_;
};

}  // namespace hocket
