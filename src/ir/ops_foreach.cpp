// Operators over lists of tensors, as optimizers use them: the i-th result comes from the i-th elements.
#include <array>

#include "ir/ops.h"
#include "ir/pointwise.h"

namespace hocket::ops {

namespace {

using enum ResultDtype;

// Operand number `element` of an argument: of a list its element, else the argument itself.
Result<Operand> element_of(const Call& call, std::size_t position, std::size_t element) {
  const Arg* arg = call.find(position);
  if (arg == nullptr) return fail(ErrorKind::input, "argument {} is missing", position);
  const std::string what = fmt::format("element {} of argument {}", element, position);
  if (arg->is(ArgKind::list)) {
    const std::span<const Arg> elements = call.pool().elements(*arg);
    if (element >= elements.size()) {
      return fail(ErrorKind::input, "argument {} is a list of {}, shorter than the first argument's", position,
                  elements.size());
    }
    return operand(call, elements[element], what);
  }
  if (arg->is(ArgKind::value) && call.values().output_count(*arg) > 1) {  // a node that results in a list
    HOCKET_TRY(const std::vector<TypeView> tensors, call.tensors(position));
    if (element < tensors.size()) return Operand{tensors[element], tensors[element].dtype};
  }
  return operand(call, *arg, what);
}

// Position 0, or for a list of exponents position 1, is the list that says how many results there are.
template <std::size_t list, ResultDtype rule, std::size_t... positions>
Result<Outputs> foreach_pointwise(const Call& call) {
  HOCKET_TRY(const std::vector<TypeView> tensors, call.tensors(list));
  Outputs outputs;
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    std::vector<Operand> operands;
    for (const std::size_t position : std::array{positions...}) {
      HOCKET_TRY(Operand next, element_of(call, position, i));
      operands.push_back(next);
    }
    HOCKET_TRY(InferredType type, pointwise_result(call, operands, rule));
    outputs.push_back(std::move(type));
  }
  return outputs;
}

Result<Outputs> foreach_clone(const Call& call) {
  HOCKET_TRY(const std::vector<TypeView> tensors, call.tensors(0));
  Outputs outputs;
  for (const TypeView& tensor : tensors) {
    HOCKET_TRY(InferredType type, cloned(call, tensor, tensor.dtype));
    outputs.push_back(std::move(type));
  }
  return outputs;
}

// One number for each tensor.
Result<Outputs> foreach_scalar(const Call& call) {
  HOCKET_TRY(const std::vector<TypeView> tensors, call.tensors(0));
  const Arg* dtype = call.find({2, "dtype"});
  Outputs outputs;
  for (const TypeView& tensor : tensors) {
    const Dtype result = dtype != nullptr && dtype->is(ArgKind::dtype) ? dtype->as_dtype() : tensor.dtype;
    outputs.push_back(typed(result_dtype(magnitude, result), {}, {}));
  }
  return outputs;
}

// In-place forms return nothing.
OpSpec writes(std::uint32_t arguments) {
  OpSpec row = fresh(no_tensors);
  row.effects.mutates = arguments;
  return row;
}

constexpr std::uint32_t first_argument = 1;

template <ResultDtype rule, std::size_t... positions>
void add_foreach(OpTable& table, std::initializer_list<std::string_view> names,
                 std::initializer_list<std::string_view> overloads) {
  for (const std::string_view name : names) {
    for (const std::string_view overload : overloads) {
      add_aten(table, {fmt::format("_foreach_{}.{}", name, overload)},
               listed(fresh(foreach_pointwise<0, rule, positions...>)));
      add_aten(table, {fmt::format("_foreach_{}_.{}", name, overload)}, writes(first_argument));
    }
  }
}

// Writes and returns the scale, and counts steps.
OpSpec amp_update() {
  OpSpec row = in_place();
  row.effects.mutates = 0b11;
  return row;
}

void add_fused_optimizers(OpTable& table) {
  // The written arguments: parameters, gradients (unscaled), moments; steps are counted outside.
  struct Optimizer {
    std::string_view name;
    std::uint32_t written;
  };
  for (const Optimizer& optimizer :
       {Optimizer{"adam", 0b11111}, {"adamw", 0b11111}, {"sgd", 0b111}, {"adagrad", 0b1111}}) {
    add_aten(table, {fmt::format("_fused_{}", optimizer.name), fmt::format("_fused_{}.tensor_lr", optimizer.name)},
             listed(fresh()));
    add_aten(table, {fmt::format("_fused_{}_", optimizer.name), fmt::format("_fused_{}_.tensor_lr", optimizer.name)},
             writes(optimizer.written));
  }
}

}  // namespace

void add_foreach_ops(OpTable& table) {
  add_foreach<real, 0>(
      table, {"acos",  "asin",  "atan", "cos",        "cosh",  "erf",     "erfc", "exp",  "expm1", "lgamma", "log",
              "log10", "log1p", "log2", "reciprocal", "rsqrt", "sigmoid", "sin",  "sinh", "sqrt",  "tan",    "tanh"},
      {"default"});
  add_foreach<common, 0>(table, {"ceil", "floor", "frac", "neg", "round", "sign", "trunc"}, {"default"});
  add_foreach<magnitude, 0>(table, {"abs"}, {"default"});
  add_foreach<common, 0, 1>(table, {"add", "mul"}, {"List", "Scalar", "ScalarList", "Tensor"});
  add_foreach<real, 0, 1>(table, {"div"}, {"List", "Scalar", "ScalarList", "Tensor"});
  add_foreach<common, 0, 1>(table, {"sub", "maximum", "minimum", "clamp_max", "clamp_min", "pow"},
                            {"List", "Scalar", "ScalarList"});
  add_foreach<common, 0, 1, 2>(table, {"addcmul"}, {"Scalar", "ScalarList", "Tensor"});
  add_foreach<real, 0, 1, 2>(table, {"addcdiv"}, {"Scalar", "ScalarList", "Tensor"});
  add_foreach<common, 0, 1, 2>(table, {"lerp"}, {"List"});
  add_foreach<common, 0, 1>(table, {"lerp"}, {"Scalar", "ScalarList"});
  add_aten(table, {"_foreach_pow.ScalarAndTensor"}, listed(fresh(foreach_pointwise<1, common, 0, 1>)));
  add_aten(table, {"_foreach_clone", "_foreach_zero"}, listed(fresh(foreach_clone)));
  add_aten(table, {"_foreach_copy"}, listed(fresh()));
  add_aten(table, {"_foreach_copy_", "_foreach_zero_"}, writes(first_argument));
  add_aten(table, {"_foreach_norm.Scalar", "_foreach_max", "_foreach_powsum.Scalar"}, listed(fresh(foreach_scalar)));
  // Unscales gradients and notes an overflow.
  add_aten(table, {"_amp_foreach_non_finite_check_and_unscale_"}, writes(0b11));
  add_aten(table, {"_amp_update_scale_"}, amp_update());
  add_fused_optimizers(table);
}

}  // namespace hocket::ops
