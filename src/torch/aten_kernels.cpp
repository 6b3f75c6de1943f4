#include "torch/aten_kernels.h"

#include <ATen/ATen.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/stack.h>
#include <c10/util/Exception.h>

#include <algorithm>
#include <optional>

#include "torch/arguments.h"
#include "torch/out_variant.h"
#include "torch/schema.h"

namespace hocket {

namespace {

// Hears what libtorch warns of instead of the user.
class WarningWatch final : public c10::WarningHandler {
 public:
  void process(const c10::Warning&) override { warned = true; }
  bool warned = false;
};

// One call with its arguments. Results that the operator does not write itself are copied to their places.
class AtenKernel final : public StepKernel {
 public:
  AtenKernel(const c10::OperatorHandle& op, std::vector<c10::IValue> args, std::vector<at::Tensor> places)
      : op_(op), args_(std::move(args)), places_(std::move(places)) {
    if (const auto out = find_out_variant(op); out && places_.size() == op.schema().returns().size()) out_ = *out;
    stack_.reserve(args_.size() + places_.size() + op_.schema().returns().size());
  }

  Status run() override {
    try {
      if (out_ && !tried_) try_out();
      else if (out_) call_out();
      else call();
      stack_.clear();
      return {};
    } catch (const c10::Error& error) {
      return fail(ErrorKind::input, "{}: {}", graph_name(op_.operator_name()), error.what_without_backtrace());
    } catch (const std::exception& error) {
      return fail(ErrorKind::input, "{}: {}", graph_name(op_.operator_name()), error.what());
    }
  }

 private:
  void call_out() {
    stack_.assign(args_.begin(), args_.end());
    stack_.insert(stack_.end(), places_.begin(), places_.end());
    out_->callBoxed(stack_);
  }

  void call() {
    stack_.assign(args_.begin(), args_.end());
    op_.callBoxed(stack_);
    if (places_.empty()) return;
    std::size_t next = 0;
    for (const c10::IValue& result : stack_) {
      for_each_tensor(result, [&](const at::Tensor& tensor) {
        if (next < places_.size()) places_[next].copy_(tensor);
        ++next;
      });
    }
    TORCH_CHECK(next == places_.size(), "it gave ", next, " tensors, the program has places for ", places_.size());
  }

  // Some of these forms use the place of the result for something larger in between, as mse_loss does. Planned memory does not
  // grow: that throws, or warns where there happens to be room, and the operator is called in its plain form from then on.
  void try_out() {
    tried_ = true;
    const std::vector<at::Tensor> places = layouts_of(places_);
    WarningWatch watch;
    bool threw = false;
    {
      const c10::WarningUtils::WarningHandlerGuard guard(&watch);
      try {
        call_out();
      } catch (const c10::Error&) {
        threw = true;
      }
    }
    if (!threw && !watch.warned) return;
    for (std::size_t i = 0; i < places.size(); ++i) {
      places_[i].set_(places[i].storage(), places[i].storage_offset(), places[i].sizes(), places[i].strides());
    }
    out_.reset();
    if (threw) call();  // what it complained of, if it was not the place, will be thrown again
  }

  static std::vector<at::Tensor> layouts_of(const std::vector<at::Tensor>& places) {
    std::vector<at::Tensor> layouts;
    for (const at::Tensor& place : places) layouts.push_back(place.alias());
    return layouts;
  }

  c10::OperatorHandle op_;
  std::optional<c10::OperatorHandle> out_;
  bool tried_ = false;
  std::vector<c10::IValue> args_;
  std::vector<at::Tensor> places_;
  torch::jit::Stack stack_;
};

}  // namespace

void AtenKernels::begin(const Program& program) {
  program_ = &program;
  storages_.clear();
  for (const Buffer& buffer : program.buffers()) {
    const auto bytes = static_cast<std::size_t>(buffer.bytes.is_static() ? buffer.bytes.value() : 0);
    storages_.emplace_back(c10::make_intrusive<c10::StorageImpl>(c10::StorageImpl::use_byte_size_t(), bytes,
                                                                 c10::DataPtr(nullptr, c10::Device(c10::kCPU)), nullptr,
                                                                 /*resizable=*/false));
  }
  tensors_.assign(program.operand_count(), {});
}

void AtenKernels::bind(BufferId buffer, std::byte* memory) {
  storages_[buffer.index()].unsafeGetStorageImpl()->set_data_ptr_noswap(c10::DataPtr(memory, c10::Device(c10::kCPU)));
}

Result<at::Tensor> AtenKernels::tensor(OperandId operand) {
  at::Tensor& tensor = tensors_[operand.index()];
  if (tensor.defined()) return tensor;
  if (program_->is_number(operand)) {
    return fail(ErrorKind::usage, "a number that is computed at run time: the executor runs programs on tensors");
  }
  const TypeView type = program_->type(operand);
  HOCKET_TRY(const std::vector<std::int64_t> sizes, numbers_of(type.shape));
  HOCKET_TRY(const std::vector<std::int64_t> strides, numbers_of(type.strides));
  HOCKET_TRY(const std::vector<std::int64_t> offset, numbers_of({&type.offset, 1}));
  tensor = at::empty({0}, at::TensorOptions(scalar_type_of(type.dtype)));
  tensor.set_(storages_[program_->operand(operand).buffer.index()], offset[0], sizes, strides);
  return tensor;
}

Result<std::unique_ptr<StepKernel>> AtenKernels::kernel(StepId step) {
  HOCKET_TRY(c10::OperatorHandle op, find_operator(program_->op_name(step)));
  const ArgReader reader{program_->pool(), [&](NodeId value) { return tensor(OperandId(value.value)); }};
  HOCKET_TRY(std::vector<c10::IValue> args,
             call_arguments(op.schema(), program_->args(step), program_->keywords(step), reader));
  // What it writes in place is no result that needs a place, also where it is returned.
  const std::vector<bool> written = written_arguments(op.schema(), args);
  std::vector<c10::StorageImpl*> in_place;
  for (std::size_t i = 0; i < args.size(); ++i) {
    if (!written[i]) continue;
    for_each_tensor(args[i], [&](const at::Tensor& one) { in_place.push_back(one.storage().unsafeGetStorageImpl()); });
  }
  std::vector<at::Tensor> places;
  for (const OperandId operand : program_->writes(step)) {
    HOCKET_TRY(at::Tensor place, tensor(operand));
    const auto* const storage = place.storage().unsafeGetStorageImpl();
    if (std::find(in_place.begin(), in_place.end(), storage) == in_place.end()) places.push_back(std::move(place));
  }
  return std::make_unique<AtenKernel>(op, std::move(args), std::move(places));
}

}  // namespace hocket
