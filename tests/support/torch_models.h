// Small models with a training step, for tests of what is captured and compiled.
#pragma once

#include <torch/torch.h>

#include <memory>
#include <vector>

#include "hocket/torch/capture.h"
#include "hocket/torch/collectives.h"

namespace hocket {

namespace nn = torch::nn;

struct Mlp : nn::Module {
  nn::Linear first = register_module("first", nn::Linear(8, 16));
  nn::Linear second = register_module("second", nn::Linear(16, 16));
  nn::Linear last = register_module("last", nn::Linear(16, 4));

  static Tensors example() { return {torch::randn({32, 8}), torch::randn({32, 4})}; }
  at::Tensor loss(const Tensors& in) {
    return torch::mse_loss(last(torch::relu(second(torch::relu(first(in[0]))))), in[1]);
  }
};

struct ConvNet : nn::Module {
  nn::Conv2d first = register_module("first", nn::Conv2d(nn::Conv2dOptions(3, 8, 3).padding(1)));
  nn::BatchNorm2d norm = register_module("norm", nn::BatchNorm2d(8));
  nn::Conv2d second = register_module("second", nn::Conv2d(nn::Conv2dOptions(8, 4, 3).stride(2)));
  nn::Linear last = register_module("last", nn::Linear(36, 10));

  static Tensors example() { return {torch::randn({4, 3, 14, 14}), torch::randint(10, {4}, torch::kLong)}; }
  at::Tensor loss(const Tensors& in) {
    at::Tensor x = torch::max_pool2d(torch::relu(norm(first(in[0]))), 2);
    x = torch::gelu(second(x)).flatten(1);
    return nn::functional::cross_entropy(last(x), in[1]);
  }
};

struct Transformer : nn::Module {
  static constexpr std::int64_t width = 16, heads = 2, tokens = 12;
  nn::Embedding embedding = register_module("embedding", nn::Embedding(20, width));
  nn::LayerNorm norm = register_module("norm", nn::LayerNorm(nn::LayerNormOptions({width})));
  nn::Linear qkv = register_module("qkv", nn::Linear(width, 3 * width));
  nn::Linear out = register_module("out", nn::Linear(width, width));
  nn::Linear head = register_module("head", nn::Linear(nn::LinearOptions(width, 20).bias(false)));

  static Tensors example() {
    return {torch::randint(20, {3, tokens}, torch::kLong), torch::randint(20, {3, tokens}, torch::kLong)};
  }
  at::Tensor loss(const Tensors& in) {
    at::Tensor x = embedding(in[0]);
    const Tensors parts = qkv(norm(x)).split(width, -1);
    const auto by_head = [&](const at::Tensor& part) {
      return part.view({3, tokens, heads, width / heads}).transpose(1, 2);
    };
    const at::Tensor mixed =
        torch::scaled_dot_product_attention(by_head(parts[0]), by_head(parts[1]), by_head(parts[2]), {}, 0.0, true);
    x = x + out(mixed.transpose(1, 2).reshape({3, tokens, width}));
    x = x * torch::sigmoid(x);
    return nn::functional::cross_entropy(head(x).view({-1, 20}), in[1].view({-1}));
  }
};

enum class Optimizer { sgd, momentum, adam };

// One training step with a gradient average over the group, as data-parallel training does it.
template <class Model>
struct Trained {
  std::shared_ptr<Model> model;
  std::unique_ptr<torch::optim::Optimizer> optimizer;

  Trained(std::shared_ptr<Model> made, Optimizer kind) : model(std::move(made)) {
    const auto parameters = model->parameters();
    if (kind == Optimizer::adam) {
      optimizer = std::make_unique<torch::optim::Adam>(parameters, torch::optim::AdamOptions(0.01));
    } else {
      const double momentum = kind == Optimizer::momentum ? 0.9 : 0.0;
      optimizer = std::make_unique<torch::optim::SGD>(parameters, torch::optim::SGDOptions(0.1).momentum(momentum));
    }
  }

  // Averages over so many ranks of the world, or not at all.
  Tensors step(const Tensors& in, int ranks) {
    optimizer->zero_grad();
    const at::Tensor loss = model->loss(in);
    loss.backward();
    Ranks group;
    for (int rank = 0; rank < ranks; ++rank) group.push_back(rank);
    for (at::Tensor& parameter : model->parameters()) {
      if (ranks > 0) parameter.grad().copy_(all_reduce(parameter.grad() / ranks, "sum", group));
    }
    optimizer->step();
    return {loss.detach()};
  }

  Tensors tensors() const {
    Tensors all;
    for (const auto& [name, tensor] : named_tensors(*model)) all.push_back(tensor);
    return all;
  }
};

}  // namespace hocket
