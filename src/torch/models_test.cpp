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
#include "support/torch_models.h"
#include "torch/replay.h"

namespace hocket {
namespace {

template <class Model>
Result<Capture> captured(Trained<Model>& trained, const Tensors& in) {
  return capture([&](const Tensors& inputs) { return trained.step(inputs, 1); }, in,
                 {.parameters = named_tensors(*trained.model)});
}

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

  const auto from_meta = captured(meta, on_meta(example));
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
  const Tensors expected_loss = real.step(example, 0);
  expect_equal_bits(expected_loss, *loss);
  expect_equal_bits(real.tensors(),
                    Tensors(inputs.begin() + static_cast<std::ptrdiff_t>(example.size()), inputs.end()));

  const auto from_real = captured(other, example);
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
  const auto graph = captured(mlp, on_meta(Mlp::example()));
  ASSERT_TRUE(graph) << graph.error().to_string();
  EXPECT_EQ(print(graph->graph).find("aten.clone"), std::string::npos);
  EXPECT_TRUE(graph->attributes.empty());
}

}  // namespace
}  // namespace hocket
