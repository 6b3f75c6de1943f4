#include "reduction.h"

#include <ATen/Functions.h>

#include "torch/arguments.h"

namespace hocket {

namespace {

double factor_of(const char* call, const c10d::ReduceOp& op) {
  const auto* const supplement = dynamic_cast<const c10d::PreMulSumSupplement*>(op.supplement_.get());
  TORCH_CHECK_VALUE(supplement != nullptr, call,
                    " got PREMUL_SUM without a factor: make it with "
                    "torch.distributed._make_nccl_premul_sum(factor)");
  return supplement->tensor_factor.defined() ? supplement->tensor_factor.item<double>() : supplement->double_factor;
}

bool keeps_parts_apart(ReduceOp op) { return op == ReduceOp::sum || op == ReduceOp::avg || op == ReduceOp::premul_sum; }

}  // namespace

C10dReduction reduction_of(const char* call, const c10d::ReduceOp& op) {
  using Type = c10d::ReduceOp::RedOpType;
  switch (op.op_) {
    case Type::SUM: return {ReduceOp::sum};
    case Type::AVG: return {ReduceOp::avg};
    case Type::PRODUCT: return {ReduceOp::product};
    case Type::MIN: return {ReduceOp::min};
    case Type::MAX: return {ReduceOp::max};
    case Type::BAND: return {ReduceOp::band};
    case Type::BOR: return {ReduceOp::bor};
    case Type::BXOR: return {ReduceOp::bxor};
    case Type::PREMUL_SUM: return {ReduceOp::premul_sum, factor_of(call, op)};
    case Type::UNUSED: break;
  }
  C10_THROW_ERROR(ValueError, c10::str(call, " got an unknown reduce operation, number ", static_cast<int>(op.op_)));
}

at::Tensor reducible(const char* call, const at::Tensor& tensor, const C10dReduction& by) {
  const at::Tensor real =
      tensor.is_complex() && keeps_parts_apart(by.op) ? at::view_as_real(tensor.resolve_conj()) : tensor;
  const auto dtype = dtype_of(real.scalar_type());
  TORCH_CHECK_VALUE(dtype.has_value(), call, " can't reduce elements of ", real.scalar_type());
  const Status status = check_reducible(*dtype, by.op);
  TORCH_CHECK_VALUE(status.has_value(), call, ": ", status ? "" : status.error().message);
  return real;
}

}  // namespace hocket
