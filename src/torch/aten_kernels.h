// libtorch's CPU kernels for the steps of a program, called through the dispatcher below autograd.
#pragma once

#include <ATen/core/Tensor.h>
#include <c10/core/StorageImpl.h>

#include <vector>

#include "hocket/run/kernels.h"

namespace hocket {

class AtenKernels final : public KernelProvider {
 public:
  void begin(const Program& program) override;
  void bind(BufferId buffer, std::byte* memory) override;
  Result<std::unique_ptr<StepKernel>> kernel(StepId step) override;

  // A tensor on the memory of its buffer, wherever that is bound to.
  Result<at::Tensor> tensor(OperandId operand);

 private:
  const Program* program_ = nullptr;
  std::vector<c10::Storage> storages_;  // by buffer
  std::vector<at::Tensor> tensors_;     // by operand; undefined where nobody has asked for it
};

}  // namespace hocket
