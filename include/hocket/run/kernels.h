// What carries out the computing steps of a program: libtorch's kernels, or those of a test.
#pragma once

#include <cstddef>
#include <memory>

#include "hocket/ir/program.h"

namespace hocket {

// One computing step, ready to run any number of times.
class StepKernel {
 public:
  StepKernel() = default;
  StepKernel(const StepKernel&) = delete;
  StepKernel& operator=(const StepKernel&) = delete;
  virtual ~StepKernel() = default;
  virtual Status run() = 0;
};

class KernelProvider {
 public:
  KernelProvider() = default;
  KernelProvider(const KernelProvider&) = delete;
  KernelProvider& operator=(const KernelProvider&) = delete;
  virtual ~KernelProvider() = default;

  // The program that will run. It stays where it is for as long as its kernels are used.
  virtual void begin(const Program& program) = 0;
  // The memory of a buffer. Said before the first step runs, and again between runs where an input has moved.
  virtual void bind(BufferId buffer, std::byte* memory) = 0;
  // An error where there is no kernel for the step's operator. Called once for each step, in their order.
  virtual Result<std::unique_ptr<StepKernel>> kernel(StepId step) = 0;
};

}  // namespace hocket
