#include "models.h"

#include <ATen/ATen.h>
#include <torch/nn/functional/loss.h>
#include <torch/nn/modules/batchnorm.h>
#include <torch/nn/modules/container/modulelist.h>
#include <torch/nn/modules/conv.h>
#include <torch/nn/modules/linear.h>

#include <cmath>

#include "with_torch/gpt.h"

namespace hocket::train_bench {

namespace {

namespace nn = torch::nn;

struct Mlp final : Model {
  static constexpr std::int64_t width = 1024, depth = 6, batch = 32;
  nn::ModuleList layers = register_module("layers", nn::ModuleList());

  Mlp() {
    for (std::int64_t i = 0; i < depth; ++i) layers->push_back(nn::Linear(width, width));
  }
  at::Tensor forward(const at::Tensor& input, const at::Tensor& expected) override {
    at::Tensor x = input;
    for (const auto& layer : *layers) x = at::relu(layer->as<nn::Linear>()->forward(x));
    return at::mse_loss(x, expected);
  }
  Tensors batch_of(std::int32_t rank) const override {
    const at::Tensor x = (at::arange(batch * width, at::kDouble) * 0.1 + rank).sin().view({batch, width});
    return {x.to(at::kFloat), x.cos().to(at::kFloat)};
  }
  std::vector<std::shared_ptr<nn::Module>> units() const override { return layers->children(); }
};

struct GptModel final : Model {
  static constexpr std::int64_t batch = 4;
  std::shared_ptr<tool::Gpt> gpt;

  explicit GptModel(const tool::GptSize& size) : gpt(register_module("gpt", std::make_shared<tool::Gpt>(size))) {}
  at::Tensor forward(const at::Tensor& input, const at::Tensor& expected) override {
    return gpt->loss(input, expected);
  }
  Tensors batch_of(std::int32_t rank) const override {
    const std::int64_t context = gpt->size.context;
    const at::Tensor text =
        (at::arange(batch * (context + 1)) * 7 + rank * 13).remainder(gpt->size.characters).view({batch, context + 1});
    return {text.slice(1, 0, context).contiguous(), text.slice(1, 1, context + 1).contiguous()};
  }
  std::vector<std::shared_ptr<nn::Module>> units() const override { return {gpt->blocks.begin(), gpt->blocks.end()}; }
};

nn::Conv2d convolution(std::int64_t in, std::int64_t out, std::int64_t size, std::int64_t stride) {
  return nn::Conv2d(nn::Conv2dOptions(in, out, size).stride(stride).padding(size / 2).bias(false));
}

struct ResidualBlock final : nn::Module {
  nn::Conv2d first, second, shortcut{nullptr};
  nn::BatchNorm2d first_norm, second_norm, shortcut_norm{nullptr};

  ResidualBlock(std::int64_t in, std::int64_t out, std::int64_t stride)
      : first(register_module("first", convolution(in, out, 3, stride))),
        second(register_module("second", convolution(out, out, 3, 1))),
        first_norm(register_module("first_norm", nn::BatchNorm2d(out))),
        second_norm(register_module("second_norm", nn::BatchNorm2d(out))) {
    if (stride == 1 && in == out) return;
    shortcut = register_module("shortcut", convolution(in, out, 1, stride));
    shortcut_norm = register_module("shortcut_norm", nn::BatchNorm2d(out));
  }
  at::Tensor forward(const at::Tensor& x) {
    const at::Tensor y = second_norm(second(at::relu(first_norm(first(x)))));
    return at::relu(y + (shortcut.is_empty() ? x : shortcut_norm(shortcut(x))));
  }
};

struct ResNet final : Model {
  static constexpr std::int64_t width = 32, batch = 8, pixels = 32, classes = 10;
  nn::Conv2d stem = register_module("stem", convolution(3, width, 3, 1));
  nn::BatchNorm2d stem_norm = register_module("stem_norm", nn::BatchNorm2d(width));
  nn::ModuleList blocks = register_module("blocks", nn::ModuleList());
  nn::Linear head = register_module("head", nn::Linear(8 * width, classes));

  ResNet() {
    std::int64_t in = width;
    for (std::int64_t stage = 0; stage < 4; ++stage) {
      const std::int64_t out = width << stage;
      blocks->push_back(std::make_shared<ResidualBlock>(in, out, stage == 0 ? 1 : 2));
      blocks->push_back(std::make_shared<ResidualBlock>(out, out, 1));
      in = out;
    }
  }
  at::Tensor forward(const at::Tensor& input, const at::Tensor& expected) override {
    at::Tensor x = at::relu(stem_norm(stem(input)));
    for (const auto& block : *blocks) x = block->as<ResidualBlock>()->forward(x);
    return nn::functional::cross_entropy(head(x.mean({2, 3})), expected);
  }
  Tensors batch_of(std::int32_t rank) const override {
    const at::Tensor x = (at::arange(batch * 3 * pixels * pixels, at::kDouble) * 0.1 + rank).sin();
    return {x.view({batch, 3, pixels, pixels}).to(at::kFloat), (at::arange(batch) * 3 + rank).remainder(classes)};
  }
  std::vector<std::shared_ptr<nn::Module>> units() const override { return blocks->children(); }
};

// Numbers between -1 and 1 that look random and are the same everywhere.
at::Tensor noise(std::int64_t count, double start) {
  return ((at::arange(count, at::kDouble) * 12.9898 + start).sin() * 43758.5453).remainder(1.0) * 2 - 1;
}

void set_weights(Model& model) {
  const at::AutoGradMode no_grad(false);
  double number = 0;
  for (const auto& named : model.named_parameters()) {
    at::Tensor parameter = named.value();
    const at::Tensor waves = noise(parameter.numel(), number).view(parameter.sizes());
    const bool is_scale = parameter.dim() == 1 && named.key().ends_with("weight");
    const auto inputs = static_cast<double>(parameter.numel() / parameter.size(0));
    parameter.copy_(is_scale ? 1 + waves * 0.1 : waves * (0.8 / std::sqrt(inputs)));
    number += 1;
  }
}

tool::GptSize gpt_size(std::int64_t layers, std::int64_t width) {
  tool::GptSize size;
  size.layers = layers;
  size.width = width;
  size.heads = width / 64;
  size.context = 128;
  size.characters = 8 * width;
  return size;
}

std::shared_ptr<Model> model_named(const std::string& name) {
  if (name == "mlp") return std::make_shared<Mlp>();
  if (name == "gpt_4x256") return std::make_shared<GptModel>(gpt_size(4, 256));
  if (name == "gpt_8x512") return std::make_shared<GptModel>(gpt_size(8, 512));
  if (name == "resnet") return std::make_shared<ResNet>();
  return nullptr;
}

}  // namespace

Result<std::shared_ptr<Model>> make_model(const std::string& name) {
  std::shared_ptr<Model> model = model_named(name);
  if (!model) return fail(ErrorKind::usage, "no model {}: mlp, gpt_4x256, gpt_8x512, resnet", name);
  set_weights(*model);
  return model;
}

}  // namespace hocket::train_bench
