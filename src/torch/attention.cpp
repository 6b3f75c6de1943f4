#include "torch/attention.h"

#include <ATen/ATen.h>
#include <c10/core/impl/LocalDispatchKeySet.h>
#include <torch/library.h>

#include <limits>
#include <optional>

#include "torch/dispatch.h"

namespace hocket {

namespace {

// SDPBackend::flash_attention of ATen/native/transformers/sdp_utils_cpp.h, which is not installed.
constexpr std::int64_t flash_attention = 1;

at::Tensor without_data_on_cpu(const at::Tensor& tensor) {
  return at::empty_strided(tensor.sizes(), tensor.strides(), tensor.options().device(at::kCPU));
}

std::int64_t choice_on_cpu(const at::Tensor& query, const at::Tensor& key, const at::Tensor& value,
                           const std::optional<at::Tensor>& mask, double dropout, bool is_causal,
                           std::optional<double> scale, bool enable_gqa) {
  const c10::impl::ExcludeDispatchKeyGuard not_captured(c10::DispatchKey::Fake);
  const at::AutoDispatchBelowADInplaceOrView below_autograd;
  const std::optional<at::Tensor> mask_on_cpu =
      mask && mask->defined() ? std::optional(without_data_on_cpu(*mask)) : std::nullopt;
  return at::_fused_sdp_choice(without_data_on_cpu(query), without_data_on_cpu(key), without_data_on_cpu(value),
                               mask_on_cpu, dropout, is_causal, scale, enable_gqa);
}

// A mask of booleans becomes one that is added, as libtorch does it.
std::optional<at::Tensor> added_mask(const std::optional<at::Tensor>& mask, at::ScalarType dtype) {
  if (!mask || !mask->defined() || mask->scalar_type() != at::kBool) return mask;
  const at::Tensor out =
      at::scalar_tensor(-std::numeric_limits<double>::infinity(), at::TensorOptions(dtype).device(mask->device()));
  return at::where(*mask, 0.0, out);
}

at::Tensor attention(const at::Tensor& query, const at::Tensor& key, const at::Tensor& value,
                     const std::optional<at::Tensor>& mask, double dropout, bool is_causal, std::optional<double> scale,
                     bool enable_gqa) {
  const Recorder* recorder = current_recorder();
  if (recorder != nullptr && recorder->device() == "cpu" &&
      choice_on_cpu(query, key, value, mask, dropout, is_causal, scale, enable_gqa) == flash_attention) {
    return std::get<0>(at::_scaled_dot_product_flash_attention_for_cpu(query, key, value, dropout, is_causal,
                                                                       added_mask(mask, query.scalar_type()), scale));
  }
  return at::_ops::scaled_dot_product_attention::redispatch(c10::DispatchKeySet(c10::DispatchKey::Meta), query, key,
                                                            value, mask, dropout, is_causal, scale, enable_gqa);
}

}  // namespace

void register_attention() {
  static const torch::Library library = [] {
    torch::Library made(torch::Library::IMPL, "aten", c10::DispatchKey::AutogradMeta, __FILE__, __LINE__);
    made.impl("scaled_dot_product_attention", &attention);
    return made;
  }();
}

}  // namespace hocket
