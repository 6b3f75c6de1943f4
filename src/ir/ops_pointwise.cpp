// Operators that compute each element from the elements at the same place.
#include <array>

#include "ir/ops.h"
#include "ir/pointwise.h"

namespace hocket::ops {

namespace {

using enum ResultDtype;

Result<std::vector<Operand>> operands_at(const Call& call, std::span<const std::size_t> positions) {
  std::vector<Operand> operands;
  for (const std::size_t position : positions) {
    HOCKET_TRY(Operand next, operand(call, position));
    operands.push_back(next);
  }
  return operands;
}

// Of the operands at these positions; other arguments (a slope, a threshold) have no say.
template <ResultDtype rule, std::size_t... positions>
Result<Outputs> pointwise(const Call& call) {
  HOCKET_TRY(const auto operands, operands_at(call, std::array{positions...}));
  HOCKET_TRY(InferredType type, pointwise_result(call, operands, rule));
  return one(std::move(type));
}

// The first argument, if the others fit into its shape.
template <std::size_t... positions>
Result<Outputs> pointwise_in_place(const Call& call) {
  HOCKET_TRY(const auto operands, operands_at(call, std::array{positions...}));
  HOCKET_TRY(const TypeView self, call.tensor(0));
  HOCKET_TRY(const InferredType wanted, pointwise_result(call, operands, self.dtype));
  if (wanted.shape.dims != copy_of(self.shape)) {
    return fail(ErrorKind::input, "the result's shape {} is not that of the tensor it is written to, {}",
                to_string(call, wanted.shape.dims), to_string(call, self.shape));
  }
  return one(same(self));
}

// "add_.Tensor" of "add.Tensor".
std::string in_place_name(std::string_view name) {
  const std::size_t end = std::min(name.find('.'), name.size());
  return fmt::format("{}_{}", name.substr(0, end), name.substr(end));
}

enum class Forms { functional, also_in_place };

template <ResultDtype rule, std::size_t... positions>
void add_alike(OpTable& table, Forms forms, std::initializer_list<std::string_view> names) {
  add_aten(table, names, fresh(pointwise<rule, positions...>));
  if (forms == Forms::functional) return;
  for (const std::string_view name : names)
    add_aten(table, {in_place_name(name)}, in_place(pointwise_in_place<positions...>));
}

// ---- operators with a rule of their own

// A real tensor is its own conjugate.
Result<Outputs> conj_physical(const Call& call) {
  HOCKET_TRY(const TypeView self, call.tensor(0));
  if (!is_complex(self.dtype)) return one(same(self));
  HOCKET_TRY(InferredType copy, like(call, self, self.dtype));
  copy.copied = true;
  return one(std::move(copy));
}

// Bounds may be absent.
Result<std::vector<Operand>> clamp_operands(const Call& call) {
  HOCKET_TRY(const Operand self, operand(call, 0));
  std::vector<Operand> operands{self};
  for (const Param bound : {Param(1, "min"), Param(2, "max")}) {
    if (!call.has(bound)) continue;
    HOCKET_TRY(Operand next, operand(call, bound));
    operands.push_back(next);
  }
  return operands;
}

Result<Outputs> clamp(const Call& call) {
  HOCKET_TRY(const auto operands, clamp_operands(call));
  HOCKET_TRY(InferredType type, pointwise_result(call, operands, common));
  return one(std::move(type));
}

// A quotient that is rounded keeps integers.
Result<Outputs> divide_by_mode(const Call& call) {
  const Arg* mode = call.keyword("rounding_mode");
  if (mode == nullptr || mode->is(ArgKind::none)) return pointwise<real, 0, 1>(call);
  HOCKET_TRY(const auto operands, operands_at(call, std::array<std::size_t, 2>{0, 1}));
  const bool floors_reals =
      mode->is(ArgKind::string) && call.pool().text(*mode) == "floor" && is_floating(common_dtype(operands));
  return floors_reals ? pointwise<common, 1, 0>(call) : pointwise<common, 0, 1>(call);  // as floor_divide does
}

// The condition takes part in shape and layout, not in the dtype.
Result<Outputs> where(const Call& call) {
  HOCKET_TRY(const auto operands, operands_at(call, std::array<std::size_t, 3>{0, 1, 2}));
  HOCKET_TRY(InferredType type, pointwise_result(call, operands, common_dtype(std::span(operands).subspan(1))));
  return one(std::move(type));
}

// A choice by the mask between the value, a tensor without dims, and the first argument; made contiguous.
Result<Outputs> masked_fill(const Call& call) {
  HOCKET_TRY(auto operands, operands_at(call, std::array<std::size_t, 2>{1, 0}));
  operands.push_back({TypeView{}, operands[1].dtype});
  HOCKET_TRY(InferredType chosen, pointwise_result(call, operands, operands[1].dtype));
  HOCKET_TRY(InferredType type, made_contiguous(call, std::move(chosen)));
  return one(std::move(type));
}

Result<Outputs> convert_element_type(const Call& call) {
  HOCKET_TRY(const TypeView self, call.tensor(0));
  HOCKET_TRY(const Dtype dtype, dtype_argument(call, {1, "dtype"}));
  HOCKET_TRY(InferredType type, cloned(call, self, dtype));
  return one(std::move(type));
}

void add_unary(OpTable& table) {
  constexpr Forms both = Forms::also_in_place;
  add_alike<real, 0>(
      table, both,
      {"acos",       "acosh", "asin",    "asinh", "atan", "atanh",  "cos",  "cosh",  "digamma", "erf",     "erfc",
       "erfinv",     "exp",   "exp2",    "expm1", "i0",   "lgamma", "log",  "log10", "log1p",   "log2",    "logit",
       "reciprocal", "rsqrt", "sigmoid", "sin",   "sinc", "sinh",   "sqrt", "tan",   "tanh",    "deg2rad", "rad2deg"});
  add_alike<common, 0>(table, both, {"neg",        "relu", "ceil",  "floor",     "round",       "round.decimals",
                                     "trunc",      "frac", "sgn",   "sign",      "bitwise_not", "silu",
                                     "gelu",       "mish", "relu6", "hardswish", "hardsigmoid", "hardtanh",
                                     "leaky_relu", "elu",  "celu",  "selu",      "nan_to_num",  "threshold"});
  add_alike<common, 0>(table, Forms::functional, {"softplus", "hardshrink", "softshrink", "log_sigmoid"});
  add_alike<counted, 0>(table, both, {"square"});
  add_alike<magnitude, 0>(table, both, {"abs"});
  add_alike<boolean, 0>(table, both, {"logical_not"});
  add_alike<boolean, 0>(table, Forms::functional, {"isnan", "isinf", "isfinite", "isneginf", "isposinf", "signbit"});
  add_aten(table, {"conj_physical"}, view_or_copy(conj_physical));
  add_aten(table, {"conj_physical_"}, in_place());
  add_aten(table, {"angle"}, fresh());
  add_aten(table, {"log_sigmoid_forward"}, fresh());  // only the CPU's kernel keeps something in its second result
}

void add_binary(OpTable& table) {
  constexpr Forms both = Forms::also_in_place;
  add_alike<common, 0, 1>(table, both,
                          {"add.Tensor",
                           "add.Scalar",
                           "sub.Tensor",
                           "sub.Scalar",
                           "mul.Tensor",
                           "mul.Scalar",
                           "remainder.Tensor",
                           "remainder.Scalar",
                           "fmod.Tensor",
                           "fmod.Scalar",
                           "nextafter",
                           "gcd",
                           "lcm",
                           "hypot",
                           "heaviside",
                           "bitwise_and.Tensor",
                           "bitwise_and.Scalar",
                           "bitwise_or.Tensor",
                           "bitwise_or.Scalar",
                           "bitwise_xor.Tensor",
                           "bitwise_xor.Scalar",
                           "bitwise_left_shift.Tensor",
                           "bitwise_left_shift.Tensor_Scalar",
                           "bitwise_right_shift.Tensor",
                           "bitwise_right_shift.Tensor_Scalar",
                           "clamp_min",
                           "clamp_min.Tensor",
                           "clamp_max",
                           "clamp_max.Tensor"});
  add_alike<common, 0, 1>(table, Forms::functional,
                          {"rsub.Scalar",
                           "remainder.Scalar_Tensor",
                           "floor_divide.Scalar",
                           "maximum",
                           "max.other",
                           "min.other",
                           "minimum",
                           "fmax",
                           "fmin",
                           "logaddexp",
                           "logaddexp2",
                           "bitwise_and.Scalar_Tensor",
                           "bitwise_or.Scalar_Tensor",
                           "bitwise_xor.Scalar_Tensor",
                           "bitwise_left_shift.Scalar_Tensor",
                           "bitwise_right_shift.Scalar_Tensor",
                           "__and__.Tensor",
                           "__and__.Scalar",
                           "__or__.Tensor",
                           "__or__.Scalar",
                           "__xor__.Tensor",
                           "__xor__.Scalar",
                           "__lshift__.Tensor",
                           "__lshift__.Scalar",
                           "__rshift__.Tensor",
                           "__rshift__.Scalar"});
  add_alike<counted, 0, 1>(table, Forms::functional, {"pow.Tensor_Tensor", "pow.Tensor_Scalar", "pow.Scalar"});
  add_alike<real, 0, 1>(table, both,
                        {"div.Tensor", "div.Scalar", "true_divide.Tensor", "true_divide.Scalar", "atan2",
                         "copysign.Scalar", "xlogy.Scalar_Other"});
  add_alike<real, 0, 1>(table, Forms::functional, {"xlogy.Scalar_Self"});
  // The second operand's layout comes first.
  add_alike<common, 1, 0>(table, Forms::functional, {"rsub.Tensor", "floor_divide"});
  add_alike<real, 1, 0>(table, both, {"copysign.Tensor", "xlogy.Tensor"});
  add_alike<boolean, 0, 1>(
      table, both,
      {"eq.Tensor", "eq.Scalar", "ne.Tensor", "ne.Scalar", "lt.Tensor", "lt.Scalar", "le.Tensor", "le.Scalar",
       "gt.Tensor", "gt.Scalar", "ge.Tensor", "ge.Scalar", "logical_and", "logical_or", "logical_xor"});
  add_alike<boolean, 0, 1>(table, Forms::functional, {"isclose"});
  add_alike<complex, 0, 1>(table, Forms::functional, {"complex", "polar"});
  add_aten(table, {"pow_.Scalar", "pow_.Tensor", "floor_divide_.Tensor", "floor_divide_.Scalar"},
           in_place(pointwise_in_place<0, 1>));
  add_aten(table, {"div.Tensor_mode", "div.Scalar_mode"}, fresh(divide_by_mode));
  add_aten(table, {"div_.Tensor_mode", "div_.Scalar_mode"}, in_place(pointwise_in_place<0, 1>));
}

void add_ternary(OpTable& table) {
  add_alike<common, 0, 1, 2>(table, Forms::also_in_place, {"lerp.Tensor", "addcmul"});
  add_alike<real, 0, 1, 2>(table, Forms::also_in_place, {"addcdiv"});
  add_alike<common, 0, 1>(table, Forms::also_in_place, {"lerp.Scalar"});
  add_aten(table, {"clamp", "clamp.Tensor"}, fresh(clamp));
  add_aten(table, {"clamp_", "clamp_.Tensor"}, in_place());
  add_aten(table, {"where.self", "where.ScalarSelf", "where.ScalarOther", "where.Scalar"}, fresh(where));
  add_aten(table, {"masked_fill.Scalar", "masked_fill.Tensor"}, fresh(masked_fill));
  add_aten(table, {"masked_fill_.Scalar", "masked_fill_.Tensor"}, in_place());
}

void add_backward(OpTable& table) {
  add_alike<common, 0, 1>(table, Forms::functional,
                          {"gelu_backward", "silu_backward", "sigmoid_backward", "tanh_backward", "mish_backward",
                           "hardshrink_backward", "softshrink_backward", "log_sigmoid_backward"});
  // A choice by the activation's argument, whose layout comes first.
  add_alike<common, 1, 0>(table, Forms::functional,
                          {"threshold_backward", "hardswish_backward", "hardsigmoid_backward", "hardtanh_backward",
                           "leaky_relu_backward", "softplus_backward", "logit_backward"});
  add_alike<common, 5, 0>(table, Forms::functional, {"elu_backward"});
}

// prims promote nothing: their operands agree already.
void add_prims(OpTable& table) {
  add_rows(
      table, "prims",
      {"acos",  "acosh",  "asin",    "asinh", "atan",    "atanh", "bitwise_not", "cbrt",       "ceil",  "conj_physical",
       "cos",   "cosh",   "digamma", "erf",   "erf_inv", "erfc",  "exp",         "exp2",       "expm1", "fill",
       "floor", "lgamma", "log",     "log10", "log1p",   "log2",  "neg",         "reciprocal", "round", "rsqrt",
       "sign",  "sin",    "sinh",    "sqrt",  "tan",     "tanh",  "trunc"},
      fresh(pointwise<common, 0>));
  add_rows(table, "prims", {"abs"}, fresh(pointwise<magnitude, 0>));
  add_rows(table, "prims", {"isfinite"}, fresh(pointwise<boolean, 0>));
  add_rows(table, "prims", {"add",         "sub",        "mul",         "div",        "atan2",
                            "bitwise_and", "bitwise_or", "bitwise_xor", "fmax",       "fmin",
                            "fmod",        "gcd",        "hypot",       "maximum",    "minimum",
                            "nextafter",   "pow",        "remainder",   "shift_left", "shift_right_arithmetic"},
           fresh(pointwise<common, 0, 1>));
  add_rows(table, "prims", {"eq", "ne", "lt", "le", "gt", "ge"}, fresh(pointwise<boolean, 0, 1>));
  add_rows(table, "prims", {"fma"}, fresh(pointwise<common, 0, 1, 2>));
  add_rows(table, "prims", {"where"}, fresh(where));
  add_rows(table, "prims", {"convert_element_type"}, fresh(convert_element_type));
}

}  // namespace

void add_pointwise_ops(OpTable& table) {
  add_unary(table);
  add_binary(table);
  add_ternary(table);
  add_backward(table);
  add_prims(table);
}

}  // namespace hocket::ops
