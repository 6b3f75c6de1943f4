// Operators that make tensors from sizes and numbers.
#include <cmath>

#include "ir/ops.h"
#include "ir/pointwise.h"

namespace hocket::ops {

namespace {

// The dtype that a number has on its own.
Result<Dtype> dtype_of_number(const Call& call, Param param) {
  HOCKET_TRY(const Operand number, operand(call, param));
  return number.dtype;
}

// A shape at `position`, contiguous unless a memory format is asked for.
template <std::size_t position, Dtype fallback = Dtype::f32>
Result<Outputs> sized(const Call& call) {
  HOCKET_TRY(Sizes shape, call.dims({position, "size"}));
  HOCKET_TRY(const std::optional<Dtype> dtype, call.dtype_keyword());
  HOCKET_TRY(const MemoryFormat format, memory_format(call, MemoryFormat::contiguous));
  const bool dense_rows = format == MemoryFormat::contiguous || format == MemoryFormat::preserve;
  HOCKET_TRY(Sizes strides, dense_rows ? contiguous(call, shape) : channels_last(call, shape));
  return one(typed(dtype.value_or(fallback), std::move(shape), std::move(strides)));
}

Result<Outputs> full(const Call& call) {
  HOCKET_TRY(Sizes shape, call.dims({0, "size"}));
  HOCKET_TRY(std::optional<Dtype> dtype, call.dtype_keyword());
  if (!dtype) {
    HOCKET_TRY(dtype, dtype_of_number(call, {1, "fill_value"}));
  }
  HOCKET_TRY(InferredType type, dense(call, *dtype, std::move(shape)));
  return one(std::move(type));
}

Result<Outputs> empty_strided(const Call& call) {
  HOCKET_TRY(Sizes shape, call.dims({0, "size"}));
  HOCKET_TRY(Sizes strides, call.dims({1, "stride"}));
  HOCKET_TRY(const std::optional<Dtype> dtype, call.dtype_keyword());
  if (shape.size() != strides.size())
    return fail(ErrorKind::input, "{} sizes but {} strides", shape.size(), strides.size());
  return one(typed(dtype.value_or(Dtype::f32), std::move(shape), std::move(strides)));
}

// physical_layout lists the dims from slowest to fastest.
Result<Outputs> empty_permuted(const Call& call) {
  HOCKET_TRY(Sizes shape, call.dims({0, "size"}));
  HOCKET_TRY(const std::vector<std::int64_t> layout, call.integers({1, "physical_layout"}));
  HOCKET_TRY(const std::optional<Dtype> dtype, call.dtype_keyword());
  if (layout.size() != shape.size())
    return fail(ErrorKind::input, "argument 1 (physical_layout) names {} of {} dims", layout.size(), shape.size());
  HOCKET_TRY(const std::vector<std::size_t> order, wrap_dims(layout, shape.size()));
  HOCKET_TRY(Sizes strides, strides_in_order(call, shape, order));
  return one(typed(dtype.value_or(Dtype::f32), std::move(shape), std::move(strides)));
}

// Of the first argument's dtype and of the shape at position 1.
Result<Outputs> new_sized(const Call& call) {
  HOCKET_TRY(const TypeView self, call.tensor(0));
  HOCKET_TRY(Sizes shape, call.dims({1, "size"}));
  HOCKET_TRY(const std::optional<Dtype> dtype, call.dtype_keyword());
  HOCKET_TRY(InferredType type, dense(call, dtype.value_or(self.dtype), std::move(shape)));
  return one(std::move(type));
}

Result<Outputs> new_empty_strided(const Call& call) {
  HOCKET_TRY(const TypeView self, call.tensor(0));
  HOCKET_TRY(Sizes shape, call.dims({1, "size"}));
  HOCKET_TRY(Sizes strides, call.dims({2, "stride"}));
  HOCKET_TRY(const std::optional<Dtype> dtype, call.dtype_keyword());
  if (shape.size() != strides.size())
    return fail(ErrorKind::input, "{} sizes but {} strides", shape.size(), strides.size());
  return one(typed(dtype.value_or(self.dtype), std::move(shape), std::move(strides)));
}

Result<Outputs> created_like(const Call& call) {
  HOCKET_TRY(const TypeView self, call.tensor(0));
  HOCKET_TRY(const std::optional<Dtype> dtype, call.dtype_keyword());
  HOCKET_TRY(const MemoryFormat format, memory_format(call, MemoryFormat::preserve));
  HOCKET_TRY(InferredType type, like(call, self, dtype.value_or(self.dtype), format));
  return one(std::move(type));
}

struct Number {
  double real = 0;
  std::optional<std::int64_t> integer;
};

Result<Number> number(const Call& call, Param param, std::int64_t fallback) {
  const Arg* arg = call.find(param);
  if (arg != nullptr && arg->is(ArgKind::real)) return Number{arg->as_real(), std::nullopt};
  HOCKET_TRY(const std::int64_t value, call.integer_or(param, fallback));
  return Number{static_cast<double>(value), value};
}

// arange(end), arange.start(start, end), arange.start_step(start, end, step): `end` stands at position `end_position`.
template <std::size_t end_position>
Result<Outputs> arange(const Call& call) {
  HOCKET_TRY(const std::optional<Dtype> dtype, call.dtype_keyword());
  const Param end_param(end_position, "end");
  const Arg* end_arg = call.find(end_param);
  if (end_position == 0 && end_arg != nullptr && end_arg->is(ArgKind::symbolic)) {
    HOCKET_TRY(InferredType type, dense(call, dtype.value_or(Dtype::i64), {end_arg->as_symbolic()}));
    return one(std::move(type));
  }
  Number start{0, 0};
  if constexpr (end_position > 0) {
    HOCKET_TRY(start, number(call, {0, "start"}, 0));
  }
  HOCKET_TRY(Number end, number(call, end_param, 0));
  HOCKET_TRY(Number step, number(call, {end_position + 1, "step"}, 1));
  const bool integers = start.integer && end.integer && step.integer;
  if (dtype && is_integral(*dtype)) {
    for (Number* bound : {&start, &end, &step}) bound->real = std::trunc(bound->real);
  }
  const double length = std::ceil((end.real - start.real) / step.real);
  if (!(length >= 0) || length > static_cast<double>(Dim::max)) {
    return fail(ErrorKind::input, "no range leads from {} to {} in steps of {}", start.real, end.real, step.real);
  }
  HOCKET_TRY(InferredType type,
             dense(call, dtype.value_or(integers ? Dtype::i64 : Dtype::f32), {Dim(static_cast<std::int64_t>(length))}));
  return one(std::move(type));
}

Result<Outputs> scalar_tensor(const Call& call) {
  HOCKET_TRY(const std::optional<Dtype> dtype, call.dtype_keyword());
  return one(typed(dtype.value_or(Dtype::f32), {}, {}));
}

// A 1-d tensor whose length stands at `position`.
template <std::size_t position, Dtype fallback>
Result<Outputs> of_length(const Call& call) {
  HOCKET_TRY(const Dim length, call.dim(position));
  HOCKET_TRY(const std::optional<Dtype> dtype, call.dtype_keyword());
  HOCKET_TRY(InferredType type, dense(call, dtype.value_or(fallback), {length}));
  return one(std::move(type));
}

Result<Outputs> eye(const Call& call) {
  HOCKET_TRY(const Dim rows, call.dim({0, "n"}));
  Dim columns = rows;
  if (call.has({1, "m"})) {
    HOCKET_TRY(columns, call.dim({1, "m"}));
  }
  HOCKET_TRY(const std::optional<Dtype> dtype, call.dtype_keyword());
  HOCKET_TRY(InferredType type, dense(call, dtype.value_or(Dtype::f32), {rows, columns}));
  return one(std::move(type));
}

// ---- inductor's random numbers: seeds are drawn once, and each use is a pure function of its seed

template <std::size_t size_position, Dtype dtype>
Result<Outputs> from_seed(const Call& call) {
  HOCKET_TRY(Sizes shape, call.dims({size_position, "size"}));
  HOCKET_TRY(InferredType type, dense(call, dtype, std::move(shape)));
  return one(std::move(type));
}

Result<Outputs> one_seed(const Call&) { return one(typed(Dtype::i64, {}, {})); }

}  // namespace

void add_creation_ops(OpTable& table) {
  OpSpec uninitialised = fresh(sized<0>);
  uninitialised.metadata_only = true;
  add_aten(table, {"empty.memory_format"}, uninitialised);
  uninitialised.shape = empty_strided;
  add_aten(table, {"empty_strided"}, uninitialised);
  add_rows(table, "prims", {"empty_strided"}, uninitialised);
  uninitialised.shape = empty_permuted;
  add_aten(table, {"empty_permuted"}, uninitialised);
  uninitialised.shape = new_sized;
  add_aten(table, {"new_empty"}, uninitialised);
  uninitialised.shape = new_empty_strided;
  add_aten(table, {"new_empty_strided"}, uninitialised);
  uninitialised.shape = created_like;
  add_aten(table, {"empty_like"}, uninitialised);

  add_aten(table, {"zeros", "ones"}, fresh(sized<0>));
  add_aten(table, {"full"}, fresh(full));
  add_rows(table, "prims", {"full"}, fresh(full));
  add_aten(table, {"new_zeros", "new_ones", "new_full"}, fresh(new_sized));
  add_aten(table, {"full_like", "zeros_like", "ones_like"}, fresh(created_like));
  add_aten(table, {"arange"}, fresh(arange<0>));
  add_aten(table, {"arange.start", "arange.start_step"}, fresh(arange<1>));
  add_aten(table, {"scalar_tensor"}, fresh(scalar_tensor));
  add_rows(table, "prims", {"scalar_tensor"}, fresh(scalar_tensor));
  add_aten(table, {"linspace"}, fresh(of_length<2, Dtype::f32>));
  add_aten(table, {"eye", "eye.m"}, fresh(eye));
  add_rows(table, "prims", {"iota"}, fresh(of_length<0, Dtype::i64>));
  add_aten(table, {"tril_indices", "triu_indices", "hann_window", "logspace"}, fresh());

  // Draws from the generator: the order of draws decides what each gets.
  add_aten(table, {"rand", "rand.generator", "randn", "randn.generator"}, with_side_effect(fresh(sized<0>)));
  add_aten(table, {"randint", "randint.generator"}, with_side_effect(fresh(sized<1, Dtype::i64>)));
  add_aten(table, {"randint.low", "randint.low_generator"}, with_side_effect(fresh(sized<2, Dtype::i64>)));
  add_aten(table, {"randperm", "randperm.generator"}, with_side_effect(fresh(of_length<0, Dtype::i64>)));
  add_aten(table,
           {"rand_like", "rand_like.generator", "randn_like.generator", "randn_like", "randint_like",
            "randint_like.low_dtype", "bernoulli.Tensor"},
           with_side_effect(fresh(created_like)));
  add_aten(table, {"bernoulli", "bernoulli.p"}, with_side_effect(fresh(dense_like_first)));
  add_aten(table, {"uniform"}, with_side_effect(fresh()));
  add_aten(table,
           {"normal.Tensor_float", "normal.float_Tensor", "normal.Tensor_Tensor", "normal.float_float", "multinomial"},
           with_side_effect(fresh()));
  add_aten(table,
           {"bernoulli_.float", "bernoulli_.Tensor", "normal_", "uniform_", "exponential_", "random_", "random_.from",
            "random_.to", "cauchy_", "log_normal_", "geometric_"},
           with_side_effect(in_place()));
  add_rows(table, "prims", {"inductor_seeds"}, with_side_effect(fresh(of_length<0, Dtype::i64>)));
  add_rows(table, "prims", {"inductor_seed"}, with_side_effect(fresh(one_seed)));
  add_rows(table, "prims", {"inductor_lookup_seed"}, fresh(one_seed));
  add_rows(table, "prims", {"inductor_random"}, fresh(from_seed<0, Dtype::f32>));
  add_rows(table, "prims", {"inductor_randint"}, fresh(from_seed<2, Dtype::i64>));
  add_rows(table, "rngprims", {"philox_rand"}, fresh());
}

}  // namespace hocket::ops
