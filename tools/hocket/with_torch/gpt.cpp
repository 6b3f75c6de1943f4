#include "with_torch/gpt.h"

#include <ATen/ATen.h>

namespace hocket::tool {

namespace {

torch::nn::LayerNorm layer_norm(std::int64_t width) {
  return torch::nn::LayerNorm(torch::nn::LayerNormOptions({width}));
}

}  // namespace

GptBlock::GptBlock(const GptSize& its_size)
    : size(its_size),
      before_attention(register_module("before_attention", layer_norm(size.width))),
      before_mixing(register_module("before_mixing", layer_norm(size.width))),
      qkv(register_module("qkv", torch::nn::Linear(size.width, 3 * size.width))),
      projection(register_module("projection", torch::nn::Linear(size.width, size.width))),
      widen(register_module("widen", torch::nn::Linear(size.width, 4 * size.width))),
      narrow(register_module("narrow", torch::nn::Linear(4 * size.width, size.width))) {}

at::Tensor GptBlock::forward(const at::Tensor& x) {
  const std::int64_t batch = x.size(0);
  const auto by_head = [&](const at::Tensor& part) {
    return part.view({batch, size.context, size.heads, size.width / size.heads}).transpose(1, 2);
  };
  const std::vector<at::Tensor> parts = qkv(before_attention(x)).split(size.width, -1);
  const at::Tensor attended =
      at::scaled_dot_product_attention(by_head(parts[0]), by_head(parts[1]), by_head(parts[2]), {}, 0.0, true);
  const at::Tensor y = x + projection(attended.transpose(1, 2).reshape({batch, size.context, size.width}));
  return y + narrow(at::gelu(widen(before_mixing(y))));
}

Gpt::Gpt(const GptSize& its_size)
    : size(its_size),
      characters(register_module("characters", torch::nn::Embedding(size.characters, size.width))),
      places(register_module("places", torch::nn::Embedding(size.context, size.width))),
      last(register_module("last", layer_norm(size.width))),
      head(register_module("head",
                           torch::nn::Linear(torch::nn::LinearOptions(size.width, size.characters).bias(false)))) {
  for (std::int64_t i = 0; i < size.layers; ++i) {
    blocks.push_back(register_module("block_" + std::to_string(i), std::make_shared<GptBlock>(size)));
  }
}

at::Tensor Gpt::loss(const at::Tensor& text, const at::Tensor& next) {
  at::Tensor x = characters(text) + places->weight;
  for (const auto& block : blocks) x = block->forward(x);
  return torch::nn::functional::cross_entropy(head(last(x)).view({-1, size.characters}), next.view({-1}));
}

}  // namespace hocket::tool
