// Other tensors for those that operators are given, above autograd: an operator is differentiated for what it really gets.
#pragma once

#include <ATen/core/Tensor.h>
#include <c10/core/impl/LocalDispatchKeySet.h>

namespace hocket {

class ArgumentReplacer {
 public:
  virtual ~ArgumentReplacer() = default;
  virtual bool replaces(const at::Tensor& given) const = 0;
  virtual at::Tensor instead_of(const at::Tensor& given) = 0;
};

// While one lives, all operators that this thread calls ask the replacer. What the replacer calls doesn't.
class ReplaceArguments {
 public:
  explicit ReplaceArguments(ArgumentReplacer& replacer);
  ~ReplaceArguments();
  ReplaceArguments(const ReplaceArguments&) = delete;
  ReplaceArguments& operator=(const ReplaceArguments&) = delete;

 private:
  ArgumentReplacer* before_;
  c10::impl::IncludeDispatchKeyGuard listen_;
};

}  // namespace hocket
