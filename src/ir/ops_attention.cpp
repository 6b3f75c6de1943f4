// Fused attention. Queries, keys and values have dims (batch, heads, sequence, features).
#include <array>

#include "ir/ops.h"

namespace hocket::ops {

namespace {

struct Attention {
  double pairs = 0;  // of a query and a key, over all batches and heads
  double features = 0;
  double value_features = 0;
};

// Of queries, keys and values at `first` and the next two positions. A causal mask is not counted.
Result<Attention> attention(const Call& call, std::size_t first) {
  HOCKET_TRY(const TypeView query, call.tensor(first));
  HOCKET_TRY(const TypeView key, call.tensor(first + 1));
  HOCKET_TRY(const TypeView value, call.tensor(first + 2));
  for (const TypeView& type : {query, key, value}) {
    if (type.shape.size() != 4)
      return fail(ErrorKind::input, "attention needs (batch, heads, sequence, features), got shape {}",
                  to_string(call, type.shape));
  }
  return Attention{count(query.shape.first(3)) * count(key.shape.subspan(2, 1)), count(query.shape.subspan(3)),
                   count(value.shape.subspan(3))};
}

// Scores, then their products with the values.
Result<double> forward_flops(const Call& call, std::span<const TypeView>) {
  HOCKET_TRY(const Attention a, attention(call, 0));
  return 2 * a.pairs * (a.features + a.value_features);
}

// Scores again, gradients of queries and keys; gradients of scores and values. The queries stand at position `first`.
template <std::size_t first>
Result<double> backward_flops(const Call& call, std::span<const TypeView>) {
  HOCKET_TRY(const Attention a, attention(call, first));
  return 2 * a.pairs * (3 * a.features + 2 * a.value_features);
}

// The result has one row for each query with the features of the values, in the layout of the queries.
Result<InferredType> attended(const Call& call) {
  HOCKET_TRY(const TypeView query, call.tensor(0));
  HOCKET_TRY(const TypeView value, call.tensor(2));
  if (query.shape.size() != 4 || value.shape.size() != 4) {
    return fail(ErrorKind::input, "attention needs 4 dims, got shapes {} and {}", to_string(call, query.shape),
                to_string(call, value.shape));
  }
  Sizes shape = copy_of(query.shape);
  shape[3] = value.shape[3];
  const Sizes strides = copy_of(query.strides);
  HOCKET_TRY(const std::vector<std::size_t> order, slowest_first(call, query.shape, std::span(&strides, 1)));
  HOCKET_TRY(Sizes dense_strides, strides_in_order(call, shape, order));
  return typed(query.dtype, std::move(shape), std::move(dense_strides));
}

// (result, log-sum-exp of the scores, random seed, random offset, an empty debug mask)
Result<Outputs> flash(const Call& call) {
  HOCKET_TRY(const TypeView query, call.tensor(0));
  HOCKET_TRY(InferredType result, attended(call));
  HOCKET_TRY(InferredType logsumexp, dense(call, Dtype::f32, copy_of(query.shape.first(3))));
  HOCKET_TRY(InferredType debug, dense(call, query.dtype, {Dim(0)}));
  return Outputs{std::move(result), std::move(logsumexp), typed(Dtype::u64, {Dim(2)}, {Dim(1)}),
                 typed(Dtype::u64, {}, {}), std::move(debug)};
}

Result<Outputs> flash_cpu(const Call& call) {
  HOCKET_TRY(const TypeView query, call.tensor(0));
  HOCKET_TRY(InferredType result, attended(call));
  // (batch, sequence, heads) in memory
  HOCKET_TRY(Sizes strides, strides_in_order(call, query.shape.first(3), std::array<std::size_t, 3>{0, 2, 1}));
  return Outputs{std::move(result), typed(Dtype::f32, copy_of(query.shape.first(3)), std::move(strides))};
}

// (result, log-sum-exp with a last dim of 1, random seed, random offset)
Result<Outputs> cudnn(const Call& call) {
  HOCKET_TRY(const TypeView query, call.tensor(0));
  HOCKET_TRY(InferredType result, attended(call));
  Sizes shape = copy_of(query.shape);
  shape[3] = Dim(1);
  HOCKET_TRY(InferredType logsumexp, dense(call, Dtype::f32, std::move(shape)));
  return Outputs{std::move(result), std::move(logsumexp), typed(Dtype::i64, {}, {}), typed(Dtype::i64, {}, {})};
}

// Gradients as (batch, sequence, heads, features) in memory.
Result<Outputs> gradients_cpu(const Call& call) {
  Outputs outputs;
  for (const std::size_t position : {1U, 2U, 3U}) {
    HOCKET_TRY(const TypeView type, call.tensor(position));
    if (type.shape.size() != 4)
      return fail(ErrorKind::input, "attention needs 4 dims, got shape {}", to_string(call, type.shape));
    HOCKET_TRY(Sizes strides, strides_in_order(call, type.shape, std::array<std::size_t, 4>{0, 2, 1, 3}));
    outputs.push_back(typed(type.dtype, copy_of(type.shape), std::move(strides)));
  }
  return outputs;
}

// Gradients in the layout of queries, keys and values.
Result<Outputs> gradients(const Call& call) {
  Outputs outputs;
  for (const std::size_t position : {1U, 2U, 3U}) {
    HOCKET_TRY(const TypeView type, call.tensor(position));
    HOCKET_TRY(InferredType gradient, like(call, type, type.dtype));
    outputs.push_back(std::move(gradient));
  }
  return outputs;
}

OpSpec with_results(OpSpec row, std::vector<std::uint8_t> tensor_results) {
  row.tensor_results = std::move(tensor_results);
  return row;
}

}  // namespace

void add_attention_ops(OpTable& table) {
  // Results 2 … 5 are sequence starts that only ragged batches have, and two integers.
  add_aten(table, {"_scaled_dot_product_flash_attention"}, with_results(matmul(flash, forward_flops), {0, 1, 6, 7, 8}));
  add_aten(table, {"_scaled_dot_product_cudnn_attention"}, with_results(matmul(cudnn, forward_flops), {0, 1, 6, 7}));
  add_aten(table, {"_scaled_dot_product_fused_attention_overrideable"},
           with_results(matmul(nullptr, forward_flops), {0, 1, 6, 7, 8}));
  add_aten(table, {"_scaled_dot_product_efficient_attention"}, matmul(nullptr, forward_flops));
  add_aten(table, {"_scaled_dot_product_flash_attention_for_cpu"}, matmul(flash_cpu, forward_flops));
  add_aten(table, {"scaled_dot_product_attention", "_scaled_dot_product_attention_math"},
           matmul(nullptr, forward_flops));

  add_aten(table, {"_scaled_dot_product_flash_attention_backward", "_scaled_dot_product_cudnn_attention_backward"},
           matmul(gradients, backward_flops<1>));
  add_aten(table, {"_scaled_dot_product_flash_attention_for_cpu_backward"}, matmul(gradients_cpu, backward_flops<1>));
  add_aten(table, {"_scaled_dot_product_fused_attention_overrideable_backward"}, matmul(nullptr, backward_flops<1>));
  add_aten(table, {"_scaled_dot_product_efficient_attention_backward"}, masked(matmul(nullptr, backward_flops<1>), 10));
  add_aten(table,
           {"_flash_attention_forward", "_flash_attention_backward", "_efficient_attention_forward",
            "_efficient_attention_backward"},
           matmul(nullptr));

  OpSpec flex = matmul(nullptr, forward_flops);
  flex.name = "hop.flex_attention";
  table.add(flex);
  flex.name = "hop.flex_attention_backward";  // (query, key, value, result, log-sum-exp, gradient, …)
  flex.flops = backward_flops<0>;
  table.add(flex);
}

}  // namespace hocket::ops
