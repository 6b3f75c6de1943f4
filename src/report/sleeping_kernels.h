// For tests: kernels that take what the program estimates and compute nothing, so that what a run takes is known.
#pragma once

#include <chrono>
#include <memory>
#include <thread>

#include "hocket/run/executor.h"

namespace hocket {

class SleepingKernels final : public KernelProvider {
 public:
  explicit SleepingKernels(double factor) : factor_(factor) {}
  void begin(const Program& program) override { program_ = &program; }
  void bind(BufferId, std::byte*) override {}
  Result<std::unique_ptr<StepKernel>> kernel(StepId step) override {
    const double time = program_->estimate(step).value_or(Nanoseconds()).ms() * factor_;
    return std::make_unique<Sleep>(std::chrono::duration<double, std::milli>(time));
  }

 private:
  class Sleep final : public StepKernel {
   public:
    explicit Sleep(std::chrono::duration<double, std::milli> time) : time_(time) {}
    Status run() override {
      if (time_.count() > 0) std::this_thread::sleep_for(time_);
      return {};
    }

   private:
    std::chrono::duration<double, std::milli> time_;
  };
  double factor_;
  const Program* program_ = nullptr;
};

}  // namespace hocket
