// Layers of neural networks: normalisation, dropout, losses.
#include "ir/ops.h"
#include "ir/pointwise.h"

namespace hocket::ops {

namespace {

// Statistics of half-precision data are kept in f32.
Dtype statistics_dtype(Dtype dtype) { return dtype == Dtype::f16 || dtype == Dtype::bf16 ? Dtype::f32 : dtype; }

// ---- normalisation

// (result, mean, 1/deviation); the statistics keep the normalised dims with size 1.
Result<Outputs> native_layer_norm(const Call& call) {
  HOCKET_TRY(const TypeView input, call.tensor(0));
  HOCKET_TRY(const Sizes normalised, call.dims({1, "normalized_shape"}));
  if (normalised.size() > input.shape.size())
    return fail(ErrorKind::input, "argument 1 (normalized_shape) has more dims than the input");
  Sizes statistics = copy_of(input.shape);
  for (std::size_t i = statistics.size() - normalised.size(); i < statistics.size(); ++i) statistics[i] = Dim(1);
  HOCKET_TRY(InferredType result, dense(call, input.dtype, copy_of(input.shape)));
  HOCKET_TRY(InferredType mean, dense(call, statistics_dtype(input.dtype), std::move(statistics)));
  return Outputs{std::move(result), mean, mean};
}

Result<Outputs> native_layer_norm_backward(const Call& call) {
  HOCKET_TRY(const TypeView input, call.tensor(1));
  HOCKET_TRY(const Sizes normalised, call.dims({2, "normalized_shape"}));
  HOCKET_TRY(const std::vector<bool> mask, output_mask(call, {7, "output_mask"}));
  HOCKET_TRY(InferredType for_input, dense(call, input.dtype, copy_of(input.shape)));
  HOCKET_TRY(InferredType for_weight, dense(call, input.dtype, normalised));
  return keep_masked({std::move(for_input), for_weight, for_weight}, mask);
}

Result<Outputs> native_group_norm(const Call& call) {
  HOCKET_TRY(const TypeView input, call.tensor(0));
  HOCKET_TRY(const Dim batch, call.dim({3, "N"}));
  HOCKET_TRY(const Dim groups, call.dim({6, "group"}));
  HOCKET_TRY(InferredType result, in_format_of(call, input, input.dtype, copy_of(input.shape)));
  HOCKET_TRY(InferredType mean, dense(call, statistics_dtype(input.dtype), {batch, groups}));
  return Outputs{std::move(result), mean, mean};
}

// ---- dropout, losses

Result<Outputs> native_dropout(const Call& call) {
  HOCKET_TRY(const TypeView input, call.tensor(0));
  HOCKET_TRY(InferredType result, like(call, input, input.dtype));
  HOCKET_TRY(InferredType mask, like(call, input, Dtype::boolean));
  return Outputs{std::move(result), std::move(mask)};
}

Result<std::vector<Operand>> tensors_at(const Call& call, std::initializer_list<std::size_t> positions) {
  std::vector<Operand> operands;
  for (const std::size_t position : positions) {
    HOCKET_TRY(const TypeView type, call.tensor(position));
    operands.push_back({type, type.dtype});
  }
  return operands;
}

constexpr std::int64_t no_reduction = 0;  // of a loss: one result for each element

template <std::size_t reduction_position>
Result<Outputs> pointwise_loss(const Call& call) {
  HOCKET_TRY(const auto operands, tensors_at(call, {0, 1}));
  HOCKET_TRY(const std::int64_t reduction, call.integer_or({reduction_position, "reduction"}, 1));
  HOCKET_TRY(InferredType type, pointwise_result(call, operands, ResultDtype::common));
  if (reduction == no_reduction) return one(std::move(type));
  return one(typed(type.dtype, {}, {}));
}

Result<Outputs> pointwise_loss_backward(const Call& call) {
  HOCKET_TRY(const auto operands, tensors_at(call, {0, 1, 2}));
  HOCKET_TRY(InferredType type, pointwise_result(call, operands, ResultDtype::common));
  return one(std::move(type));
}

Result<Outputs> nll_loss_forward(const Call& call) {
  HOCKET_TRY(const TypeView self, call.tensor(0));
  HOCKET_TRY(const TypeView target, call.tensor(1));
  HOCKET_TRY(const std::int64_t reduction, call.integer({3, "reduction"}));
  HOCKET_TRY(InferredType loss, dense(call, self.dtype, reduction == no_reduction ? copy_of(target.shape) : Sizes{}));
  return Outputs{std::move(loss), typed(self.dtype, {}, {})};
}

Result<Outputs> nll_loss_backward(const Call& call) {
  HOCKET_TRY(const TypeView self, call.tensor(1));
  HOCKET_TRY(InferredType type, dense(call, self.dtype, copy_of(self.shape)));
  return one(std::move(type));
}

Result<Outputs> dropout_backward(const Call& call) {
  HOCKET_TRY(const auto operands, tensors_at(call, {0, 1}));
  HOCKET_TRY(InferredType scaled, pointwise_result(call, operands, operands[0].dtype));
  HOCKET_TRY(InferredType type, made_contiguous(call, std::move(scaled)));
  return one(std::move(type));
}

// Running statistics are arguments 3 and 4.
OpSpec updates_statistics(ShapeFunction shape) {
  OpSpec row = fresh(shape);
  row.effects.mutates = 0b11000;
  return row;
}

}  // namespace

void add_network_ops(OpTable& table) {
  add_aten(table, {"native_layer_norm"}, fresh(native_layer_norm));
  add_aten(table, {"native_layer_norm_backward"}, masked(fresh(native_layer_norm_backward), 7));
  add_aten(table, {"native_group_norm"}, fresh(native_group_norm));
  add_aten(table, {"native_group_norm_backward"}, masked(fresh(), 9));
  add_aten(table, {"_fused_rms_norm", "rms_norm", "layer_norm"}, fresh());
  add_aten(table, {"_fused_rms_norm_backward"}, masked(fresh(), 5));
  add_aten(table, {"native_batch_norm", "_native_batch_norm_legit", "cudnn_batch_norm", "_batch_norm_with_update"},
           updates_statistics(nullptr));
  add_aten(table,
           {"_native_batch_norm_legit.no_stats", "_native_batch_norm_legit_functional",
            "_native_batch_norm_legit_no_training", "_batch_norm_with_update_functional", "_batch_norm_no_update",
            "cudnn_batch_norm_backward", "batch_norm_stats"},
           fresh());
  add_aten(table, {"native_batch_norm_backward", "batch_norm_backward"}, masked(fresh(), 9));

  add_aten(table,
           {"upsample_nearest2d", "upsample_nearest2d.vec", "upsample_bilinear2d", "upsample_bilinear2d.vec",
            "upsample_nearest2d_backward", "upsample_bilinear2d_backward", "pixel_shuffle", "pixel_unshuffle", "im2col",
            "col2im", "grid_sampler_2d", "glu", "glu_backward"},
           fresh());
  add_aten(table,
           {"upsample_nearest1d", "upsample_nearest3d", "upsample_bicubic2d", "upsample_bicubic2d_backward",
            "_upsample_nearest_exact2d", "_weight_norm_interface", "_weight_norm_interface_backward",
            "_thnn_fused_lstm_cell", "_trilinear", "_embedding_bag_forward_only"},
           fresh());
  add_aten(table,
           {"_cdist_forward", "_cdist_backward", "_pdist_forward", "_fft_r2c", "_fft_c2r", "_fft_c2c", "linalg_inv_ex",
            "linalg_cholesky_ex", "linalg_lu_factor_ex", "linalg_qr", "linalg_solve_triangular", "_linalg_det",
            "_linalg_eigh", "_linalg_slogdet", "_linalg_solve_ex", "_linalg_svd"},
           fresh());

  add_aten(table, {"native_dropout"}, with_side_effect(fresh(native_dropout)));
  add_aten(table, {"dropout", "_fused_dropout"}, with_side_effect(fresh()));
  add_aten(table, {"native_dropout_backward"}, fresh(dropout_backward));
  add_aten(table, {"nll_loss_forward", "nll_loss2d_forward"}, fresh(nll_loss_forward));
  add_aten(table, {"nll_loss_backward", "nll_loss2d_backward"}, fresh(nll_loss_backward));
  add_aten(table, {"mse_loss", "smooth_l1_loss", "huber_loss"}, fresh(pointwise_loss<2>));
  add_aten(table, {"binary_cross_entropy"}, fresh(pointwise_loss<3>));
  add_aten(table,
           {"mse_loss_backward", "smooth_l1_loss_backward", "huber_loss_backward", "binary_cross_entropy_backward"},
           fresh(pointwise_loss_backward));
  add_aten(table, {"binary_cross_entropy_with_logits", "kl_div", "l1_loss", "cross_entropy_loss"}, fresh());
}

}  // namespace hocket::ops
