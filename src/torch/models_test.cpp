// Training steps of small models: the capture on meta is the capture on real tensors, and its replay computes what
// libtorch computes, bit for bit.
#include <gtest/gtest.h>
#include <torch/torch.h>

#include <memory>
#include <string>
#include <vector>

#include "hocket/ir/json.h"
#include "hocket/ir/text.h"
#include "hocket/ir/verify.h"
#include "hocket/torch/capture.h"
#include "hocket/torch/collectives.h"
#include "torch/replay.h"

namespace hocket {
namespace {

namespace nn = torch::nn;
using Tensors = std::vector<at::Tensor>;

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

  Tensors step(const Tensors& in, bool average) {
    optimizer->zero_grad();
    const at::Tensor loss = model->loss(in);
    loss.backward();
    for (at::Tensor& parameter : model->parameters()) {
      if (average) parameter.grad().copy_(all_reduce(parameter.grad() / 1, "sum", {0}));
    }
    optimizer->step();
    return {loss.detach()};
  }

  Result<Capture> captured(const Tensors& in) {
    return capture([this](const Tensors& inputs) { return step(inputs, true); }, in,
                   {.parameters = named_tensors(*model)});
  }

  Tensors tensors() const {
    Tensors all;
    for (const auto& [name, tensor] : named_tensors(*model)) all.push_back(tensor);
    return all;
  }
};

template <class Model>
std::shared_ptr<Model> model_on_meta() {
  const OnMeta scope;
  return std::make_shared<Model>();
}

Tensors on_meta(const Tensors& tensors) {
  Tensors moved;
  for (const at::Tensor& tensor : tensors) moved.push_back(torch::empty_like(tensor, torch::kMeta));
  return moved;
}

Tensors clones(const Tensors& tensors) {
  Tensors copies;
  for (const at::Tensor& tensor : tensors) copies.push_back(tensor.detach().clone());
  return copies;
}

void expect_equal_bits(const Tensors& expected, const Tensors& actual) {
  ASSERT_EQ(expected.size(), actual.size());
  for (std::size_t i = 0; i < expected.size(); ++i) EXPECT_TRUE(torch::equal(expected[i], actual[i])) << "tensor " << i;
}

// On meta, libtorch adds up the gradients of a value that is used twice out of place, otherwise in place where it can.
enum class GradientSums { none, some };

template <class Model>
void check_model(Optimizer kind, GradientSums sums = GradientSums::none) {
  torch::manual_seed(7);
  const Tensors example = Model::example();
  Trained<Model> real(std::make_shared<Model>(), kind);
  Trained<Model> meta(model_on_meta<Model>(), kind);
  for (const at::Tensor& tensor : meta.tensors()) ASSERT_TRUE(tensor.is_meta());

  const auto from_meta = meta.captured(on_meta(example));
  ASSERT_TRUE(from_meta) << from_meta.error().to_string();
  const Graph& graph = from_meta->graph;
  for (const Problem& problem : verify(graph)) ADD_FAILURE() << problem.to_string();

  const auto read_back = parse_graph(print(graph), "printed");
  ASSERT_TRUE(read_back) << read_back.error().to_string();
  EXPECT_EQ(Graph::first_difference(graph, *read_back), "");
  const auto from_json = read_graph_json(write_graph_json(graph), "json");
  ASSERT_TRUE(from_json) << from_json.error().to_string();
  EXPECT_EQ(Graph::first_difference(graph, *from_json), "");

  const Tensors before = clones(real.tensors());
  Tensors inputs = clones(example);
  for (const at::Tensor& tensor : before) inputs.push_back(tensor.clone());
  const auto loss = replay(graph, inputs);
  ASSERT_TRUE(loss) << loss.error().to_string();

  Trained<Model> other(std::make_shared<Model>(), kind);  // an optimizer's first step may differ from its later ones
  {
    const torch::NoGradGuard no_grad;
    const Tensors to = other.tensors();
    for (std::size_t i = 0; i < to.size(); ++i) to[i].copy_(before[i]);
  }
  const Tensors expected_loss = real.step(example, false);
  expect_equal_bits(expected_loss, *loss);
  expect_equal_bits(real.tensors(),
                    Tensors(inputs.begin() + static_cast<std::ptrdiff_t>(example.size()), inputs.end()));

  const auto from_real = other.captured(example);
  ASSERT_TRUE(from_real) << from_real.error().to_string();
  if (sums == GradientSums::none) {
    EXPECT_EQ(Graph::first_difference(from_real->graph, graph), "");
  }
  EXPECT_EQ(from_real->graph.size(), graph.size());
  expect_equal_bits(before, other.tensors());
}

TEST(Models, AnMlpWithSgd) { check_model<Mlp>(Optimizer::sgd); }
TEST(Models, AnMlpWithMomentum) { check_model<Mlp>(Optimizer::momentum); }
TEST(Models, AnMlpWithAdam) { check_model<Mlp>(Optimizer::adam); }
TEST(Models, AConvolutionNetWithBatchNorm) { check_model<ConvNet>(Optimizer::sgd); }
TEST(Models, ATransformerWithAttentionAndLayerNorm) { check_model<Transformer>(Optimizer::adam, GradientSums::some); }

TEST(Models, NoGradientIsCloned) {
  Trained<Mlp> mlp(model_on_meta<Mlp>(), Optimizer::sgd);
  const auto captured = mlp.captured(on_meta(Mlp::example()));
  ASSERT_TRUE(captured) << captured.error().to_string();
  EXPECT_EQ(print(captured->graph).find("aten.clone"), std::string::npos);
  EXPECT_TRUE(captured->attributes.empty());
}

}  // namespace
}  // namespace hocket
