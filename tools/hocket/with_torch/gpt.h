// A small GPT: a transformer that predicts the next character.
#pragma once

#include <torch/nn/functional/loss.h>
#include <torch/nn/module.h>
#include <torch/nn/modules/embedding.h>
#include <torch/nn/modules/linear.h>
#include <torch/nn/modules/normalization.h>
#include <torch/nn/pimpl.h>

#include <cstdint>
#include <string>
#include <vector>

namespace hocket::tool {

struct GptSize {
  std::int64_t layers = 4;
  std::int64_t width = 128;
  std::int64_t heads = 4;
  std::int64_t context = 64;  // characters
  std::int64_t characters = 64;
};

struct GptBlock : torch::nn::Module {
  explicit GptBlock(const GptSize& its_size);
  at::Tensor forward(const at::Tensor& x);

  GptSize size;
  torch::nn::LayerNorm before_attention, before_mixing;
  torch::nn::Linear qkv, projection, widen, narrow;
};

struct Gpt : torch::nn::Module {
  explicit Gpt(const GptSize& its_size);
  // Batches of characters, and the characters that follow them: [batch, context].
  at::Tensor loss(const at::Tensor& text, const at::Tensor& next);

  GptSize size;
  torch::nn::Embedding characters, places;
  std::vector<std::shared_ptr<GptBlock>> blocks;
  torch::nn::LayerNorm last;
  torch::nn::Linear head;
};

}  // namespace hocket::tool
