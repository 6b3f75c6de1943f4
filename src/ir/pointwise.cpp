#include "ir/pointwise.h"

namespace hocket::ops {

namespace {

// There is no complex type of two half-precision numbers here.
Dtype to_complex(Dtype dtype) { return dtype == Dtype::f64 ? Dtype::c128 : Dtype::c64; }

std::optional<Dtype> promoted(std::optional<Dtype> a, std::optional<Dtype> b) {
  if (!a || !b) return a ? a : b;
  return promote(*a, *b);
}

// What operands of lower priority add to those of a higher one: only a higher kind counts.
std::optional<Dtype> combined(std::optional<Dtype> higher, std::optional<Dtype> lower) {
  if (!higher || !lower) return higher ? higher : lower;
  if (is_complex(*higher)) return higher;
  if (is_floating(*higher)) return is_complex(*lower) ? to_complex(*higher) : *higher;
  if (*higher == Dtype::boolean || is_floating(*lower) || is_complex(*lower)) return promote(*higher, *lower);
  return higher;
}

Result<Dtype> number_dtype(const Call& call, const Arg& arg, std::string_view what) {
  switch (arg.kind()) {
    case ArgKind::boolean: return Dtype::boolean;
    case ArgKind::integer:
    case ArgKind::symbolic:
    case ArgKind::value: return Dtype::i64;
    case ArgKind::real: return Dtype::f32;
    default: break;
  }
  // For the message: neither a tensor nor a number.
  HOCKET_TRY(const TypeView type, call.tensor(arg, what));
  return type.dtype;
}

}  // namespace

Result<Operand> operand(const Call& call, Param param) {
  const Arg* arg = call.find(param);
  if (arg == nullptr)
    return fail(ErrorKind::input, "argument {} is missing, expected a tensor or a number", param.index);
  return operand(call, *arg, fmt::format("argument {}", param.index));
}

Result<Operand> operand(const Call& call, const Arg& arg, std::string_view what) {
  Operand result;
  if (arg.is(ArgKind::value) && call.values().output_count(arg) > 0) {
    HOCKET_TRY(result.tensor, call.tensor(arg, what));
    result.dtype = result.tensor->dtype;
  } else {
    HOCKET_TRY(result.dtype, number_dtype(call, arg, what));
  }
  return result;
}

Dtype common_dtype(std::span<const Operand> operands) {
  std::optional<Dtype> with_dims;
  std::optional<Dtype> without_dims;
  std::optional<Dtype> numbers;
  for (const Operand& operand : operands) {
    std::optional<Dtype>& level = !operand.tensor ? numbers : operand.tensor->shape.empty() ? without_dims : with_dims;
    level = promoted(level, operand.dtype);
  }
  return combined(with_dims, combined(without_dims, numbers)).value_or(Dtype::f32);
}

Dtype result_dtype(ResultDtype rule, Dtype common) {
  switch (rule) {
    case ResultDtype::common: return common;
    case ResultDtype::counted: return common == Dtype::boolean ? Dtype::i64 : common;
    case ResultDtype::real: return is_integral(common) ? Dtype::f32 : common;
    case ResultDtype::magnitude:
      if (common == Dtype::c128) return Dtype::f64;
      return common == Dtype::c64 ? Dtype::f32 : common;
    case ResultDtype::boolean: return Dtype::boolean;
    case ResultDtype::complex: return to_complex(common);
  }
  return common;
}

Result<InferredType> pointwise_result(const Call& call, std::span<const Operand> operands, ResultDtype rule) {
  return pointwise_result(call, operands, result_dtype(rule, common_dtype(operands)));
}

Result<InferredType> pointwise_result(const Call& call, std::span<const Operand> operands, Dtype dtype) {
  Sizes shape;
  std::vector<TypeView> tensors;
  for (const Operand& operand : operands) {
    if (!operand.tensor) continue;
    tensors.push_back(*operand.tensor);
    HOCKET_TRY(shape, broadcast(call, shape, operand.tensor->shape));
  }
  HOCKET_TRY(Sizes strides, pointwise_strides(call, shape, tensors));
  return typed(dtype, std::move(shape), std::move(strides));
}

}  // namespace hocket::ops
