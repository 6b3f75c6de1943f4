// Operators along dims: sums, extrema, softmax, scans, sorting.
#include <algorithm>
#include <array>

#include "ir/ops.h"
#include "ir/pointwise.h"

namespace hocket::ops {

namespace {

// How a reduction's dtype follows from its argument's.
enum class Reduced : std::uint8_t {
  total,      // sum: integers become i64
  same,       // amax
  floating,   // logsumexp: integers become f32
  magnitude,  // norms: complex becomes real
  boolean,    // any; but bytes stay bytes
  index,      // argmax
};

Dtype reduced_dtype(Reduced rule, Dtype dtype) {
  switch (rule) {
    case Reduced::total: return is_integral(dtype) ? Dtype::i64 : dtype;
    case Reduced::same: return dtype;
    case Reduced::floating: return result_dtype(ResultDtype::real, dtype);
    case Reduced::magnitude: return result_dtype(ResultDtype::magnitude, dtype);
    case Reduced::boolean: return dtype == Dtype::u8 ? Dtype::u8 : Dtype::boolean;
    case Reduced::index: return Dtype::i64;
  }
  return dtype;
}

// The dims to reduce: all, where none is named.
Result<std::vector<bool>> reduced_dims(const Call& call, Param param, std::size_t rank) {
  std::vector<bool> reduced(std::max<std::size_t>(rank, 1), true);
  if (!call.has(param)) return reduced;
  HOCKET_TRY(const std::vector<std::int64_t> named, call.integers(param));
  if (named.empty()) return reduced;
  HOCKET_TRY(const std::vector<std::size_t> dims, wrap_dims(named, rank));
  reduced.assign(reduced.size(), false);
  for (const std::size_t dim : dims) reduced[dim] = true;
  return reduced;
}

Sizes reduced_shape(Dims shape, const std::vector<bool>& reduced, bool keepdim) {
  Sizes result;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (!reduced[i]) result.push_back(shape[i]);
    else if (keepdim) result.emplace_back(1);
  }
  return result;
}

constexpr std::size_t nowhere =
    99;  // the position of a parameter that can only be a keyword, or that an operator lacks

Result<Sizes> reduce(const Call& call, const TypeView& self, std::size_t dim_position, std::size_t keepdim_position) {
  HOCKET_TRY(const bool keepdim, call.boolean_or({keepdim_position, "keepdim"}, false));
  HOCKET_TRY(const std::vector<bool> dims, reduced_dims(call, {dim_position, "dim"}, self.shape.size()));
  return reduced_shape(self.shape, dims, keepdim);
}

template <Reduced rule, std::size_t dim_position = nowhere, std::size_t keepdim_position = dim_position + 1>
Result<Outputs> reduction(const Call& call) {
  HOCKET_TRY(const TypeView self, call.tensor(0));
  HOCKET_TRY(const std::optional<Dtype> dtype, call.dtype_keyword());
  HOCKET_TRY(Sizes shape, reduce(call, self, dim_position, keepdim_position));
  HOCKET_TRY(InferredType type, dense(call, dtype.value_or(reduced_dtype(rule, self.dtype)), std::move(shape)));
  return one(std::move(type));
}

// any.dims and all.dims take an empty list at its word: nothing is reduced.
Result<Outputs> truth_along(const Call& call) {
  HOCKET_TRY(const TypeView self, call.tensor(0));
  const Arg* dims = call.find({1, "dim"});
  if (dims == nullptr || !dims->is(ArgKind::list) || dims->as_range().count != 0)
    return reduction<Reduced::boolean, 1>(call);
  HOCKET_TRY(InferredType type, cloned(call, self, reduced_dtype(Reduced::boolean, self.dtype)));
  return one(std::move(type));
}

// (variance, mean), (minimum, maximum): two results of the same shape.
template <Reduced first, Reduced second, std::size_t dim_position = nowhere,
          std::size_t keepdim_position = dim_position + 1>
Result<Outputs> reductions(const Call& call) {
  HOCKET_TRY(Outputs outputs, (reduction<first, dim_position, keepdim_position>(call)));
  HOCKET_TRY(const Outputs others, (reduction<second, dim_position, keepdim_position>(call)));
  outputs.push_back(others[0]);
  return outputs;
}

// The same along one dim: the last one, where none is named.
template <Reduced first, Reduced second, std::size_t dim_position>
Result<Outputs> reductions_along(const Call& call) {
  HOCKET_TRY(const TypeView self, call.tensor(0));
  HOCKET_TRY(const std::int64_t dim, call.integer_or({dim_position, "dim"}, -1));
  HOCKET_TRY(const bool keepdim, call.boolean_or({dim_position + 1, "keepdim"}, false));
  std::vector<bool> reduced(std::max<std::size_t>(self.shape.size(), 1), false);
  HOCKET_TRY(const std::size_t which, wrap_dim(dim, self.shape.size()));
  reduced[which] = true;
  Outputs outputs;
  for (const Reduced rule : {first, second}) {
    HOCKET_TRY(InferredType type,
               dense(call, reduced_dtype(rule, self.dtype), reduced_shape(self.shape, reduced, keepdim)));
    outputs.push_back(std::move(type));
  }
  return outputs;
}

// prims reduce to a dtype of their own keyword and never keep dims.
template <Reduced rule>
Result<Outputs> prims_reduction(const Call& call) {
  HOCKET_TRY(const TypeView self, call.tensor(0));
  HOCKET_TRY(const std::optional<Dtype> dtype, call.dtype_keyword("output_dtype"));
  HOCKET_TRY(const std::vector<bool> dims, reduced_dims(call, {1, "dims"}, self.shape.size()));
  HOCKET_TRY(InferredType type,
             dense(call, dtype.value_or(reduced_dtype(rule, self.dtype)), reduced_shape(self.shape, dims, false)));
  return one(std::move(type));
}

// ---- results of the argument's own shape

Result<Outputs> contiguous_like(const Call& call, const TypeView& type, Dtype dtype) {
  HOCKET_TRY(InferredType result, like(call, type, dtype));
  HOCKET_TRY(InferredType settled, made_contiguous(call, std::move(result)));
  return one(std::move(settled));
}

Result<Outputs> softmax(const Call& call) {
  HOCKET_TRY(const TypeView self, call.tensor(0));
  HOCKET_TRY(const bool to_float, call.boolean_or({2, "half_to_float"}, false));
  HOCKET_TRY(InferredType type, dense(call, to_float ? Dtype::f32 : self.dtype, copy_of(self.shape)));
  return one(std::move(type));
}

Result<Outputs> log_softmax(const Call& call) {
  HOCKET_TRY(const Outputs outputs, softmax(call));
  HOCKET_TRY(const TypeView self, call.tensor(0));
  return contiguous_like(call, self, outputs[0].dtype);
}

Result<Outputs> softmax_backward(const Call& call) {
  HOCKET_TRY(const TypeView grad, call.tensor(0));
  HOCKET_TRY(const Dtype dtype, dtype_argument(call, {3, "input_dtype"}));
  return contiguous_like(call, grad, dtype);
}

Result<Outputs> log_softmax_backward(const Call& call) {
  HOCKET_TRY(const TypeView grad, call.tensor(0));
  HOCKET_TRY(const TypeView output, call.tensor(1));
  HOCKET_TRY(const Dtype dtype, dtype_argument(call, {3, "input_dtype"}));
  const std::array<Operand, 2> operands = {Operand{grad, grad.dtype}, Operand{output, output.dtype}};
  HOCKET_TRY(InferredType type, pointwise_result(call, operands, dtype));
  return one(std::move(type));
}

// softmax.int(self, dim, dtype?)
Result<Outputs> softmax_to(const Call& call) {
  HOCKET_TRY(const TypeView self, call.tensor(0));
  const Arg* dtype = call.find({2, "dtype"});
  const bool given = dtype != nullptr && dtype->is(ArgKind::dtype);
  const Dtype result = given ? dtype->as_dtype() : reduced_dtype(Reduced::floating, self.dtype);
  HOCKET_TRY(InferredType type, dense(call, result, copy_of(self.shape)));
  return one(std::move(type));
}

Result<Outputs> log_softmax_to(const Call& call) {
  HOCKET_TRY(const Outputs outputs, softmax_to(call));
  HOCKET_TRY(const TypeView self, call.tensor(0));
  return contiguous_like(call, self, outputs[0].dtype);
}

template <Reduced rule>
Result<Outputs> scan(const Call& call) {
  HOCKET_TRY(const TypeView self, call.tensor(0));
  HOCKET_TRY(const std::int64_t dim, call.integer({1, "dim"}));
  HOCKET_CHECK(wrap_dim(dim, self.shape.size()).map([](std::size_t) {}));
  HOCKET_TRY(const std::optional<Dtype> dtype, call.dtype_keyword());
  HOCKET_TRY(InferredType type, dense(call, dtype.value_or(reduced_dtype(rule, self.dtype)), copy_of(self.shape)));
  return one(std::move(type));
}

Result<Outputs> values_and_indices(const Call& call, const TypeView& self) {
  HOCKET_TRY(InferredType values, like(call, self, self.dtype));
  HOCKET_TRY(InferredType indices, like(call, self, Dtype::i64));
  Outputs outputs = one(std::move(values));
  outputs.push_back(std::move(indices));
  return outputs;
}

Result<Outputs> sort(const Call& call) {
  HOCKET_TRY(const TypeView self, call.tensor(0));
  return values_and_indices(call, self);
}

Result<Outputs> cumulative_extremum(const Call& call) {
  HOCKET_TRY(const TypeView self, call.tensor(0));
  HOCKET_TRY(InferredType values, dense(call, self.dtype, copy_of(self.shape)));
  HOCKET_TRY(InferredType indices, dense(call, Dtype::i64, copy_of(self.shape)));
  Outputs outputs = one(std::move(values));
  outputs.push_back(std::move(indices));
  return outputs;
}

Result<Outputs> argsort(const Call& call) {
  HOCKET_TRY(Outputs both, sort(call));
  return one(std::move(both[1]));
}

Result<Outputs> topk(const Call& call) {
  HOCKET_TRY(const TypeView self, call.tensor(0));
  HOCKET_TRY(const Dim k, call.dim({1, "k"}));
  HOCKET_TRY(const std::int64_t given, call.integer_or({2, "dim"}, -1));
  HOCKET_TRY(const std::size_t dim, wrap_dim(given, self.shape.size()));
  Sizes shape = copy_of(self.shape);
  if (!shape.empty()) {
    if (k.is_static() && shape[dim].is_static() && k.value() > shape[dim].value()) {
      return fail(ErrorKind::input, "argument 1 (k) is {}, but dim {} has {} elements", k.value(), dim,
                  shape[dim].value());
    }
    shape[dim] = k;
  }
  HOCKET_TRY(InferredType values, dense(call, self.dtype, shape));
  HOCKET_TRY(InferredType indices, dense(call, Dtype::i64, shape));
  Outputs outputs = one(std::move(values));
  outputs.push_back(std::move(indices));
  return outputs;
}

Result<Outputs> histc(const Call& call) {
  HOCKET_TRY(const TypeView self, call.tensor(0));
  HOCKET_TRY(const std::int64_t bins, call.integer_or({1, "bins"}, 100));
  if (bins <= 0) return fail(ErrorKind::input, "argument 1 (bins) is {}, expected a positive number", bins);
  HOCKET_TRY(InferredType type, dense(call, self.dtype, {Dim(bins)}));
  return one(std::move(type));
}

// inductor: the maximum and the sum of exponentials in one pass, both with the dim kept.
Result<Outputs> prepare_softmax_online(const Call& call) {
  HOCKET_TRY(const TypeView self, call.tensor(0));
  HOCKET_TRY(const std::vector<bool> dims, reduced_dims(call, {1, "dim"}, self.shape.size()));
  HOCKET_TRY(InferredType maximum, dense(call, self.dtype, reduced_shape(self.shape, dims, true)));
  Outputs outputs = one(maximum);
  outputs.push_back(std::move(maximum));
  return outputs;
}

}  // namespace

void add_reduction_ops(OpTable& table) {
  add_aten(table, {"sum", "prod"}, fresh(reduction<Reduced::total>));
  add_aten(table, {"sum.dim_IntList", "prod.dim_int", "nansum"}, fresh(reduction<Reduced::total, 1>));
  add_aten(table, {"mean", "max", "min", "median"}, fresh(reduction<Reduced::same>));
  add_aten(table, {"mean.dim", "amax", "amin"}, fresh(reduction<Reduced::same, 1>));
  add_aten(table, {"any", "all"}, fresh(reduction<Reduced::boolean>));
  add_aten(table, {"any.dim", "all.dim"}, fresh(reduction<Reduced::boolean, 1>));
  add_aten(table, {"any.dims", "all.dims"}, fresh(truth_along));
  add_aten(table, {"argmax", "argmin"}, fresh(reduction<Reduced::index, 1>));
  add_aten(table, {"count_nonzero", "count_nonzero.dim_IntList"}, fresh(reduction<Reduced::index, 1>));
  add_aten(table, {"logsumexp"}, fresh(reduction<Reduced::floating, 1>));
  add_aten(table, {"var", "std"}, fresh(reduction<Reduced::magnitude>));
  add_aten(table, {"var.dim", "std.dim"}, fresh(reduction<Reduced::magnitude, 1, 3>));
  add_aten(table, {"var.correction", "std.correction"}, fresh(reduction<Reduced::magnitude, 1, nowhere>));
  add_aten(table, {"var_mean", "std_mean"}, fresh(reductions<Reduced::magnitude, Reduced::same>));
  add_aten(table, {"var_mean.dim", "std_mean.dim"}, fresh(reductions<Reduced::magnitude, Reduced::same, 1, 3>));
  add_aten(table, {"var_mean.correction", "std_mean.correction"},
           fresh(reductions<Reduced::magnitude, Reduced::same, 1, nowhere>));
  add_aten(table, {"aminmax"}, fresh(reductions<Reduced::same, Reduced::same>));
  add_aten(table, {"max.dim", "min.dim", "median.dim", "mode"},
           fresh(reductions_along<Reduced::same, Reduced::index, 1>));
  add_aten(table, {"kthvalue"}, fresh(reductions_along<Reduced::same, Reduced::index, 2>));
  add_aten(table, {"norm.Scalar", "norm.ScalarOpt_dtype"}, fresh(reduction<Reduced::magnitude>));
  add_aten(table, {"norm.ScalarOpt_dim", "norm.ScalarOpt_dim_dtype", "linalg_vector_norm"},
           fresh(reduction<Reduced::magnitude, 2>));

  add_rows(table, "prims", {"sum", "prod"}, fresh(prims_reduction<Reduced::same>));
  add_rows(table, "prims", {"amax", "amin", "xor_sum"}, fresh(prims_reduction<Reduced::same>));
  add_rows(table, "prims", {"var"}, fresh(prims_reduction<Reduced::magnitude>));
  add_rows(table, "prims", {"prepare_softmax_online"}, fresh(prepare_softmax_online));

  add_aten(table, {"_softmax"}, fresh(softmax));
  add_aten(table, {"_log_softmax"}, fresh(log_softmax));
  add_aten(table, {"_softmax_backward_data"}, fresh(softmax_backward));
  add_aten(table, {"_log_softmax_backward_data"}, fresh(log_softmax_backward));
  add_aten(table, {"softmax.int", "_safe_softmax"}, fresh(softmax_to));
  add_aten(table, {"log_softmax.int"}, fresh(log_softmax_to));
  add_aten(table, {"cumsum", "cumprod"}, fresh(scan<Reduced::total>));
  add_aten(table, {"logcumsumexp"}, fresh(scan<Reduced::same>));
  add_aten(table, {"cumsum_", "cumprod_"}, in_place());
  add_aten(table, {"cummax", "cummin"}, fresh(cumulative_extremum));
  add_aten(table, {"sort", "sort.stable"}, fresh(sort));
  add_aten(table, {"argsort", "argsort.stable"}, fresh(argsort));
  add_aten(table, {"topk"}, fresh(topk));
  add_aten(table, {"histc"}, fresh(histc));
  add_aten(table, {"msort", "bincount", "quantile", "trace"}, fresh());
}

}  // namespace hocket::ops
