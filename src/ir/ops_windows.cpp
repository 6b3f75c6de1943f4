// Windows that slide over data: convolution and pooling.
#include <algorithm>
#include <array>

#include "ir/ops.h"

namespace hocket::ops {

namespace {

// Parameters of windows, one number for each spatial dim, or one for all.
struct Windows {
  std::vector<std::int64_t> kernel, stride, padding, dilation, output_padding;
  bool ceil_mode = false;
};

struct Window {
  std::int64_t kernel, stride, padding, dilation, output_padding;
};

std::int64_t number_for(const std::vector<std::int64_t>& list, std::size_t dim, std::int64_t fallback) {
  if (list.empty()) return fallback;
  return dim < list.size() ? list[dim] : list.back();
}

// The window along spatial dim `dim` of a size that is known. Bounds keep the arithmetic on them far from overflow.
Result<Window> window_for(const Call& call, const Windows& windows, std::size_t dim, Dim size) {
  constexpr std::int64_t limit = std::int64_t{1} << 30;
  if (!size.is_static()) {
    return fail(cannot_infer(fmt::format("windows slide over size {}", call.symbols().to_string(size))));
  }
  const std::int64_t kernel = number_for(windows.kernel, dim, 1);
  const Window window{kernel, number_for(windows.stride, dim, kernel), number_for(windows.padding, dim, 0),
                      number_for(windows.dilation, dim, 1), number_for(windows.output_padding, dim, 0)};
  for (const std::int64_t number :
       {window.kernel, window.stride, window.padding, window.dilation, window.output_padding, size.value()}) {
    if (number < 0 || number > limit)
      return fail(ErrorKind::input, "a window of {} over size {}", number, size.value());
  }
  if (window.stride == 0) return fail(ErrorKind::input, "windows have a stride of 0");
  return window;
}

// How many windows fit.
Result<Dim> window_count(const Call& call, const Windows& windows, std::size_t dim, Dim size) {
  HOCKET_TRY(const Window window, window_for(call, windows, dim, size));
  const std::int64_t room = size.value() + 2 * window.padding - window.dilation * (window.kernel - 1) - 1;
  if (room < 0) {
    return fail(ErrorKind::input, "a window of {} elements (dilation {}) does not fit into size {} with padding {}",
                window.kernel, window.dilation, size.value(), window.padding);
  }
  const std::int64_t rounding = windows.ceil_mode ? window.stride - 1 : 0;
  std::int64_t count = (room + rounding) / window.stride + 1;
  const bool last_starts_outside = (count - 1) * window.stride >= size.value() + window.padding;
  if (windows.ceil_mode && last_starts_outside) --count;
  return Dim(count);
}

// The size that so many windows come from: the other way round.
Result<Dim> windows_reach(const Call& call, const Windows& windows, std::size_t dim, Dim count) {
  HOCKET_TRY(const Window window, window_for(call, windows, dim, count));
  const std::int64_t size = (count.value() - 1) * window.stride - 2 * window.padding +
                            window.dilation * (window.kernel - 1) + window.output_padding + 1;
  if (size < 0) return fail(ErrorKind::input, "the transposed convolution's result would have size {}", size);
  return Dim(size);
}

// ---- convolution

// Which layout the result has then is up to the library that computes it.
Status check_layouts(const TypeView& input, const TypeView& weight) {
  if (!suggests_channels_last(input) && !suggests_channels_last(weight)) return {};
  return fail(cannot_infer("the layout of a channels-last convolution depends on the device's library"));
}

Result<Outputs> convolution(const Call& call) {
  HOCKET_TRY(const TypeView input, call.tensor(0));
  HOCKET_TRY(const TypeView weight, call.tensor(1));
  Windows windows;
  HOCKET_TRY(windows.stride, call.integers({3, "stride"}));
  HOCKET_TRY(windows.padding, call.integers({4, "padding"}));
  HOCKET_TRY(windows.dilation, call.integers({5, "dilation"}));
  HOCKET_TRY(const bool transposed, call.boolean_or({6, "transposed"}, false));
  HOCKET_TRY(windows.output_padding, call.integers({7, "output_padding"}));
  HOCKET_TRY(const Dim groups, call.dim({8, "groups"}));
  if (input.shape.size() != weight.shape.size() || input.shape.size() < 3 || !all_static(weight.shape)) {
    return fail(cannot_infer("it is no plain batched convolution"));
  }
  for (const Dim size : weight.shape.subspan(2)) windows.kernel.push_back(size.value());
  Sizes shape{input.shape[0], weight.shape[0]};
  if (transposed) {
    HOCKET_TRY(shape[1], times(call, weight.shape[1], groups));
  }
  for (std::size_t i = 2; i < input.shape.size(); ++i) {
    HOCKET_TRY(const Dim size, transposed ? windows_reach(call, windows, i - 2, input.shape[i])
                                          : window_count(call, windows, i - 2, input.shape[i]));
    shape.push_back(size);
  }
  HOCKET_CHECK(check_layouts(input, weight));
  HOCKET_TRY(InferredType type, dense(call, input.dtype, std::move(shape)));
  return one(std::move(type));
}

Result<Outputs> convolution_backward(const Call& call) {
  HOCKET_TRY(const TypeView grad, call.tensor(0));
  HOCKET_TRY(const TypeView input, call.tensor(1));
  HOCKET_TRY(const TypeView weight, call.tensor(2));
  HOCKET_TRY(const std::vector<bool> mask, output_mask(call, {10, "output_mask"}));
  if (grad.shape.size() < 2) return fail(cannot_infer("it is no plain batched convolution"));
  HOCKET_CHECK(check_layouts(input, weight));
  HOCKET_TRY(InferredType for_input, dense(call, grad.dtype, copy_of(input.shape)));
  HOCKET_TRY(InferredType for_weight, dense(call, grad.dtype, copy_of(weight.shape)));
  HOCKET_TRY(InferredType for_bias, dense(call, grad.dtype, {grad.shape[1]}));
  return keep_masked({std::move(for_input), std::move(for_weight), std::move(for_bias)}, mask);
}

// Each place of the filter meets each of `places` in each batch.
double filter_flops(Dims weight, Dim batch, Dims places) {
  return 2 * count(weight) * count(std::array{batch}) * count(places);
}

Result<double> convolution_flops(const Call& call, std::span<const TypeView> outputs) {
  HOCKET_TRY(const TypeView input, call.tensor(0));
  HOCKET_TRY(const TypeView weight, call.tensor(1));
  HOCKET_TRY(const bool transposed, call.boolean_or({6, "transposed"}, false));
  if (outputs.empty() || outputs[0].shape.size() < 2 || input.shape.size() < 2) return 0;
  return filter_flops(weight.shape, input.shape[0], (transposed ? input : outputs[0]).shape.subspan(2));
}

// The gradient of the input costs as much as the convolution itself. That of the weight is a convolution of the input
// with the gradient as the filter, batch and channels swapped; groups are not counted apart.
Result<double> convolution_backward_flops(const Call& call, std::span<const TypeView>) {
  HOCKET_TRY(const TypeView grad, call.tensor(0));
  HOCKET_TRY(const TypeView input, call.tensor(1));
  HOCKET_TRY(const TypeView weight, call.tensor(2));
  HOCKET_TRY(const bool transposed, call.boolean_or({7, "transposed"}, false));
  HOCKET_TRY(const std::vector<bool> mask, output_mask(call, {10, "output_mask"}));
  if (grad.shape.size() < 2 || input.shape.size() < 2 || weight.shape.size() < 2) return 0;
  const Dims spatial_weight = weight.shape.subspan(2);
  double flops = 0;
  if (!mask.empty() && mask[0])
    flops += filter_flops(weight.shape, grad.shape[0], (transposed ? input : grad).shape.subspan(2));
  if (mask.size() > 1 && mask[1]) {
    const TypeView& signal = transposed ? grad : input;
    const TypeView& filter = transposed ? input : grad;
    flops += filter_flops(filter.shape, signal.shape[1], spatial_weight);
  }
  return flops;
}

// ---- pooling

Result<Sizes> pooled_shape(const Call& call, Dims input, const Windows& windows) {
  if (input.size() != 3 && input.size() != 4) {
    return fail(ErrorKind::input, "pooling needs 3 or 4 dims, got shape {}", to_string(call, input));
  }
  Sizes shape = copy_of(input);
  for (std::size_t i = 0; i < 2; ++i) {
    HOCKET_TRY(shape[shape.size() - 2 + i], window_count(call, windows, i, input[input.size() - 2 + i]));
  }
  return shape;
}

Result<std::vector<std::int64_t>> integers_or_none(const Call& call, Param param) {
  return call.has(param) ? call.integers(param) : Result<std::vector<std::int64_t>>(std::vector<std::int64_t>{});
}

template <Dtype index_dtype>
Result<Outputs> max_pool2d(const Call& call) {
  HOCKET_TRY(const TypeView input, call.tensor(0));
  Windows windows;
  HOCKET_TRY(windows.kernel, call.integers({1, "kernel_size"}));
  HOCKET_TRY(windows.stride, integers_or_none(call, {2, "stride"}));
  HOCKET_TRY(windows.padding, integers_or_none(call, {3, "padding"}));
  HOCKET_TRY(windows.dilation, integers_or_none(call, {4, "dilation"}));
  HOCKET_TRY(windows.ceil_mode, call.boolean_or({5, "ceil_mode"}, false));
  HOCKET_TRY(const Sizes shape, pooled_shape(call, input.shape, windows));
  HOCKET_TRY(InferredType values, in_format_of(call, input, input.dtype, shape));
  HOCKET_TRY(InferredType indices, in_format_of(call, input, index_dtype, shape));
  return Outputs{std::move(values), std::move(indices)};
}

Result<Outputs> avg_pool2d(const Call& call) {
  HOCKET_TRY(const TypeView input, call.tensor(0));
  Windows windows;
  HOCKET_TRY(windows.kernel, call.integers({1, "kernel_size"}));
  HOCKET_TRY(windows.stride, integers_or_none(call, {2, "stride"}));
  HOCKET_TRY(windows.padding, integers_or_none(call, {3, "padding"}));
  HOCKET_TRY(windows.ceil_mode, call.boolean_or({4, "ceil_mode"}, false));
  HOCKET_TRY(Sizes shape, pooled_shape(call, input.shape, windows));
  HOCKET_TRY(InferredType type, in_format_of(call, input, input.dtype, std::move(shape)));
  return one(std::move(type));
}

// The gradient of the second argument.
Result<Outputs> pool_backward(const Call& call) {
  HOCKET_TRY(const TypeView input, call.tensor(1));
  HOCKET_TRY(InferredType type, in_format_of(call, input, input.dtype, copy_of(input.shape)));
  return one(std::move(type));
}

Result<Outputs> adaptive_pool2d(const Call& call) {
  HOCKET_TRY(const TypeView input, call.tensor(0));
  HOCKET_TRY(const Sizes size, call.dims({1, "output_size"}));
  if (input.shape.size() < 2 || size.size() != 2)
    return fail(ErrorKind::input, "pooling to 2 sizes needs at least 2 dims");
  Sizes shape = copy_of(input.shape);
  std::copy(size.begin(), size.end(), shape.end() - 2);
  HOCKET_TRY(InferredType type, in_format_of(call, input, input.dtype, std::move(shape)));
  return one(std::move(type));
}

Result<Outputs> pool_offsets_to_indices(const Call& call) {
  HOCKET_TRY(const TypeView offsets, call.tensor(0));
  HOCKET_TRY(InferredType type, like(call, offsets, Dtype::i64));
  return one(std::move(type));
}

}  // namespace

void add_window_ops(OpTable& table) {
  add_aten(table, {"convolution", "convolution_overrideable", "_convolution"}, matmul(convolution, convolution_flops));
  add_aten(table, {"convolution_backward"}, masked(matmul(convolution_backward, convolution_backward_flops), 10));

  add_aten(table, {"max_pool2d_with_indices"}, fresh(max_pool2d<Dtype::i64>));
  add_aten(table, {"max_pool2d_with_indices_backward", "_adaptive_avg_pool2d_backward", "avg_pool2d_backward"},
           fresh(pool_backward));
  add_aten(table, {"avg_pool2d"}, fresh(avg_pool2d));
  add_aten(table, {"_adaptive_avg_pool2d", "adaptive_avg_pool2d"}, fresh(adaptive_pool2d));
  add_rows(table, "prims", {"_low_memory_max_pool_with_offsets"}, fresh(max_pool2d<Dtype::i8>));
  add_rows(table, "prims", {"_low_memory_max_pool_offsets_to_indices"}, fresh(pool_offsets_to_indices));
  add_aten(table,
           {"_adaptive_avg_pool3d", "_adaptive_avg_pool3d_backward", "avg_pool3d", "avg_pool3d_backward",
            "max_pool3d_with_indices", "max_pool3d_with_indices_backward", "adaptive_max_pool2d",
            "adaptive_max_pool2d_backward"},
           fresh());
}

}  // namespace hocket::ops
