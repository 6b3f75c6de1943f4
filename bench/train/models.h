// The models of `./hk bench train`. contestant_pytorch.py has the same, parameter by parameter.
#pragma once

#include <torch/nn/module.h>

#include <memory>
#include <string>
#include <vector>

#include "hocket/base/error.h"

namespace hocket::train_bench {

using Tensors = std::vector<at::Tensor>;

class Model : public torch::nn::Module {
 public:
  virtual at::Tensor forward(const at::Tensor& input, const at::Tensor& expected) = 0;  // the loss
  virtual Tensors batch_of(std::int32_t rank) const = 0;
  // What fully_shard() gathers together.
  virtual std::vector<std::shared_ptr<torch::nn::Module>> units() const = 0;
};

// "mlp", "gpt_4x256", "gpt_8x512", "resnet". Weights follow from their numbers, so that all contestants begin alike.
Result<std::shared_ptr<Model>> make_model(const std::string& name);

}  // namespace hocket::train_bench
