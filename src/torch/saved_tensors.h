// What autograd saves for the backward, under our eyes.
#pragma once

#include <ATen/core/Tensor.h>

#include <functional>

namespace hocket {

// Gives the saved tensor when the backward asks for it.
using Restore = std::function<at::Tensor()>;

class SavedTensorKeeper {
 public:
  virtual ~SavedTensorKeeper() = default;
  // How to get the tensor back without keeping it; nothing: it is kept.
  virtual Restore let_go_of(const at::Tensor& saved) = 0;
};

// While one lives, the keeper is asked about every tensor that this thread saves. Not possible where another autograd engine than
// libtorch's own is installed, as in a Python process: then tensors are kept.
class KeepSavedTensors {
 public:
  explicit KeepSavedTensors(SavedTensorKeeper* keeper);
  ~KeepSavedTensors();
  KeepSavedTensors(const KeepSavedTensors&) = delete;
  KeepSavedTensors& operator=(const KeepSavedTensors&) = delete;
  static bool possible();

 private:
  SavedTensorKeeper* before_;
};

}  // namespace hocket
