// Kernels for contiguous f32, in place of libtorch's: neg(x), clone(x), copy_(y, x), add(x, y), and relu(x), which fails when it is
// told to.
//
//   PlainKernels kernels;
//   const auto executor = Executor::create(program, kernels, world);
#pragma once

#include <algorithm>
#include <map>
#include <memory>
#include <string_view>

#include "hocket/run/kernels.h"

namespace hocket {

class PlainKernels final : public KernelProvider {
 public:
  void begin(const Program& program) override { program_ = &program; }
  void bind(BufferId buffer, std::byte* memory) override { memory_[buffer.index()] = memory; }
  Result<std::unique_ptr<StepKernel>> kernel(StepId step) override {
    const std::string_view op = program_->op_name(step);
    for (const std::string_view known :
         {"aten.neg.default", "aten.add.Tensor", "aten.relu.default", "aten.clone.default", "aten.copy_.default"}) {
      if (op == known) return std::make_unique<Kernel>(*this, step);
    }
    return fail(ErrorKind::usage, "no kernel for {}", op);
  }
  bool relu_fails = false;

 private:
  class Kernel final : public StepKernel {
   public:
    Kernel(PlainKernels& all, StepId step) : all_(all), step_(step) {}
    Status run() override {
      const Program& program = *all_.program_;
      const std::string_view op = program.op_name(step_);
      if (op == "aten.relu.default" && all_.relu_fails) return fail(ErrorKind::input, "the kernel broke");
      const auto reads = program.reads(step_);
      const float* const from = all_.at(reads[op == "aten.copy_.default" ? 1 : 0]);
      float* const to = all_.at(program.writes(step_)[0]);
      const float* const other = op == "aten.add.Tensor" ? all_.at(reads[1]) : nullptr;
      for (std::int64_t i = 0; i < all_.count(reads[0]); ++i) {
        const float x = from[i];
        if (op == "aten.neg.default") to[i] = -x;
        else if (op == "aten.relu.default") to[i] = std::max(x, 0.0F);
        else to[i] = other != nullptr ? x + other[i] : x;
      }
      return {};
    }

   private:
    PlainKernels& all_;
    StepId step_;
  };

  std::int64_t count(OperandId operand) const {
    std::int64_t elements = 1;
    for (const Dim dim : program_->type(operand).shape) elements *= dim.value();
    return elements;
  }
  float* at(OperandId operand) const {
    const Operand& one = program_->operand(operand);
    return reinterpret_cast<float*>(memory_.at(one.buffer.index())) + program_->type(operand).offset.value();
  }

  const Program* program_ = nullptr;
  std::map<std::size_t, std::byte*> memory_;
};

}  // namespace hocket
