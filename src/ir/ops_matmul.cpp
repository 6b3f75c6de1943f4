// Matrix products. FLOPs are counted as PyTorch counts them: 2 for each multiplication and addition of the inner dim.
#include <array>

#include "ir/ops.h"
#include "ir/pointwise.h"

namespace hocket::ops {

namespace {

Status check_rank(const Call& call, const TypeView& type, std::size_t rank, std::size_t position) {
  if (type.shape.size() == rank) return {};
  return fail(ErrorKind::input, "argument {} has shape {}, expected {} dims", position, to_string(call, type.shape),
              rank);
}

Status check_equal(const Call& call, Dim a, Dim b, std::string_view what) {
  if (a == b || !a.is_static() || !b.is_static()) return {};
  return fail(ErrorKind::input, "{} differ: {} and {}", what, call.symbols().to_string(a), call.symbols().to_string(b));
}

Status check_dtypes(const TypeView& a, const TypeView& b) {
  if (a.dtype == b.dtype) return {};
  return fail(ErrorKind::input, "matrices of dtypes {} and {} cannot be multiplied: convert one", short_name(a.dtype),
              short_name(b.dtype));
}

// The dtype argument of the `.dtype` overloads, at this position.
Dtype out_dtype(const Call& call, std::size_t position, Dtype fallback) {
  const Arg* arg = call.find({position, "out_dtype"});
  return arg != nullptr && arg->is(ArgKind::dtype) ? arg->as_dtype() : fallback;
}

enum class Mixed { forbidden, allowed };

// Matrices at `first` and the next position.
template <std::size_t first, std::size_t dtype_position, Mixed mixed = Mixed::forbidden>
Result<Outputs> mm(const Call& call) {
  HOCKET_TRY(const TypeView a, call.tensor(first));
  HOCKET_TRY(const TypeView b, call.tensor(first + 1));
  HOCKET_CHECK(check_rank(call, a, 2, first));
  HOCKET_CHECK(check_rank(call, b, 2, first + 1));
  HOCKET_CHECK(check_equal(call, a.shape[1], b.shape[0], "inner sizes of the matrices"));
  if (mixed == Mixed::forbidden) HOCKET_CHECK(check_dtypes(a, b));
  HOCKET_TRY(InferredType type, dense(call, out_dtype(call, dtype_position, a.dtype), {a.shape[0], b.shape[1]}));
  return one(std::move(type));
}

template <std::size_t first, std::size_t dtype_position>
Result<Outputs> bmm(const Call& call) {
  HOCKET_TRY(const TypeView a, call.tensor(first));
  HOCKET_TRY(const TypeView b, call.tensor(first + 1));
  HOCKET_CHECK(check_rank(call, a, 3, first));
  HOCKET_CHECK(check_rank(call, b, 3, first + 1));
  HOCKET_CHECK(check_equal(call, a.shape[0], b.shape[0], "batch sizes"));
  HOCKET_CHECK(check_equal(call, a.shape[2], b.shape[1], "inner sizes of the matrices"));
  HOCKET_CHECK(check_dtypes(a, b));
  HOCKET_TRY(InferredType type,
             dense(call, out_dtype(call, dtype_position, a.dtype), {a.shape[0], a.shape[1], b.shape[2]}));
  return one(std::move(type));
}

Result<Outputs> addbmm(const Call& call) {
  HOCKET_TRY(const Outputs products, (bmm<1, 99>(call)));
  const Sizes& shape = products[0].shape.dims;
  HOCKET_TRY(InferredType type, dense(call, products[0].dtype, {shape[1], shape[2]}));
  return one(std::move(type));
}

template <std::size_t first>
Result<Outputs> mv(const Call& call) {
  HOCKET_TRY(const TypeView matrix, call.tensor(first));
  HOCKET_TRY(const TypeView vector, call.tensor(first + 1));
  HOCKET_CHECK(check_rank(call, matrix, 2, first));
  HOCKET_CHECK(check_rank(call, vector, 1, first + 1));
  HOCKET_CHECK(check_equal(call, matrix.shape[1], vector.shape[0], "inner sizes"));
  HOCKET_TRY(InferredType type, dense(call, matrix.dtype, {matrix.shape[0]}));
  return one(std::move(type));
}

Result<Outputs> dot(const Call& call) {
  HOCKET_TRY(const TypeView a, call.tensor(0));
  HOCKET_TRY(const TypeView b, call.tensor(1));
  HOCKET_CHECK(check_rank(call, a, 1, 0));
  HOCKET_CHECK(check_rank(call, b, 1, 1));
  HOCKET_CHECK(check_equal(call, a.shape[0], b.shape[0], "lengths"));
  return one(typed(a.dtype, {}, {}));
}

Result<Outputs> int_mm(const Call& call) {
  HOCKET_TRY(Outputs outputs, (mm<0, 99>(call)));
  outputs[0].dtype = Dtype::i32;
  return outputs;
}

// Groups along the rows (2-d · 3-d), the columns (3-d · 2-d), the inner dim (2-d · 2-d), or plain batches (3-d · 3-d);
// offs has one end for each group.
template <std::size_t offs_position, std::size_t dtype_position>
Result<Outputs> grouped_mm(const Call& call) {
  HOCKET_TRY(const TypeView a, call.tensor(0));
  HOCKET_TRY(const TypeView b, call.tensor(1));
  const std::size_t rank_a = a.shape.size();
  const std::size_t rank_b = b.shape.size();
  if (rank_a < 2 || rank_a > 3 || rank_b < 2 || rank_b > 3) {
    return fail(ErrorKind::input, "grouped matrices have shapes {} and {}, expected 2 or 3 dims",
                to_string(call, a.shape), to_string(call, b.shape));
  }
  HOCKET_CHECK(check_equal(call, a.shape[rank_a - 1], b.shape[rank_b - 2], "inner sizes of the matrices"));
  Sizes shape{a.shape[rank_a - 2], b.shape[rank_b - 1]};
  if (rank_a == rank_b) {
    Dim groups = a.shape[0];
    if (rank_a == 2) {
      HOCKET_TRY(const TypeView offs, call.tensor({offs_position, "offs"}));
      HOCKET_CHECK(check_rank(call, offs, 1, offs_position));
      groups = offs.shape[0];
    }
    shape.insert(shape.begin(), groups);
  }
  // Rows are padded to 16 bytes, which the hardware's bulk copies need.
  const Dtype dtype = out_dtype(call, dtype_position, a.dtype);
  const std::int64_t alignment = 16 / size_of(dtype);
  const Dim columns = shape.back();
  if (!columns.is_static()) return fail(cannot_infer("padding of its rows depends on a symbolic size"));
  Sizes padded = shape;
  padded.back() = Dim((columns.value() + alignment - 1) / alignment * alignment);
  HOCKET_TRY(Sizes strides, contiguous(call, padded));
  return one(typed(dtype, std::move(shape), std::move(strides)));
}

// (…, inputs) · (outputs, inputs)ᵀ
Result<Outputs> linear(const Call& call) {
  HOCKET_TRY(const TypeView input, call.tensor(0));
  HOCKET_TRY(const TypeView weight, call.tensor(1));
  HOCKET_CHECK(check_rank(call, weight, 2, 1));
  if (input.shape.empty()) return fail(ErrorKind::input, "argument 0 has no dims");
  HOCKET_CHECK(check_equal(call, input.shape.back(), weight.shape[1], "inner sizes of input and weight"));
  Sizes shape = copy_of(input.shape);
  shape.back() = weight.shape[0];
  HOCKET_TRY(InferredType type, dense(call, input.dtype, std::move(shape)));
  return one(std::move(type));
}

// ---- FLOPs: symbolic sizes count as 0, as in tensor_bytes

// Every element of the left matrices (with their batch) meets every column of the right one. For groups too: each row
// meets the matrix of its group only.
template <std::size_t first>
Result<double> product_flops(const Call& call, std::span<const TypeView>) {
  HOCKET_TRY(const TypeView a, call.tensor(first));
  HOCKET_TRY(const TypeView b, call.tensor(first + 1));
  if (a.shape.empty() || b.shape.empty()) return 0;
  return 2 * count(a.shape) * count(std::array{b.shape.back()});
}

Result<double> linear_flops(const Call& call, std::span<const TypeView>) {
  HOCKET_TRY(const TypeView input, call.tensor(0));
  HOCKET_TRY(const TypeView weight, call.tensor(1));
  return 2 * count(input.shape) * count(std::array{weight.shape.empty() ? Dim(0) : weight.shape[0]});
}

// For general shapes: each result is a sum over the inner dim.
Result<double> matmul_flops(const Call& call, std::span<const TypeView> outputs) {
  HOCKET_TRY(const TypeView a, call.tensor(0));
  if (a.shape.empty() || outputs.empty()) return 0;
  return 2 * count(outputs[0].shape) * count(std::array{a.shape.back()});
}

}  // namespace

void add_matmul_ops(OpTable& table) {
  constexpr std::size_t none = 99;
  add_aten(table, {"mm", "mm.dtype"}, matmul(mm<0, 2>, product_flops<0>));
  add_aten(table, {"addmm", "addmm.dtype"}, matmul(mm<1, 3>, product_flops<1>));
  add_aten(table, {"_addmm_activation"}, matmul(mm<1, none>, product_flops<1>));
  add_aten(table, {"bmm", "bmm.dtype"}, matmul(bmm<0, 2>, product_flops<0>));
  add_aten(table, {"baddbmm", "baddbmm.dtype"}, matmul(bmm<1, 3>, product_flops<1>));
  add_aten(table, {"addbmm"}, matmul(addbmm, product_flops<1>));
  add_aten(table, {"_scaled_mm"}, matmul(mm<0, 6, Mixed::allowed>, product_flops<0>));
  add_aten(table, {"_int_mm"}, matmul(int_mm, product_flops<0>));
  add_aten(table, {"_grouped_mm"}, matmul(grouped_mm<2, 4>, product_flops<0>));
  add_aten(table, {"_scaled_grouped_mm", "_scaled_mm_v2"}, matmul(nullptr, product_flops<0>));
  add_aten(table, {"linear"}, matmul(linear, linear_flops));
  add_aten(table, {"matmul"}, matmul(nullptr, matmul_flops));
  add_aten(table, {"einsum"}, matmul(nullptr));
  add_aten(table, {"mv"}, fresh(mv<0>));
  add_aten(table, {"addmv"}, fresh(mv<1>));
  add_aten(table, {"dot", "vdot"}, fresh(dot));
  add_aten(table, {"outer", "ger", "addr"}, fresh());
  add_aten(table, {"linear_backward"}, masked(matmul(nullptr), 3));
  OpSpec in_place_product = in_place();
  in_place_product.effects.gemm = true;
  in_place_product.flops = product_flops<1>;
  add_aten(table, {"addmm_", "baddbmm_"}, in_place_product);
  add_aten(table, {"_foreach_mm"}, listed(matmul(nullptr)));
}

}  // namespace hocket::ops
