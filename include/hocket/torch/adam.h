// Adam and AdamW for steps that are compiled: the count of steps and the learning rate are tensors, so that a compiled step goes on
// counting, and a schedule can change the rate between two runs of it. torch::optim::Adam keeps both as numbers of the host, which
// would stay what they were at the capture. Of the same gradients both make the same weights, bit for bit.
//
//   hk::Adam optimizer(model->parameters(), {.learning_rate = 3e-4, .weight_decay = 0.01, .decoupled = true});   // AdamW
//   auto step = hk::compile([&](const Tensors& batch) {
//     optimizer.zero_grad();
//     const at::Tensor loss = loss_of(*model, batch);
//     loss.backward();
//     optimizer.step();
//     return Tensors{loss.detach()};
//   }, batch, {.parameters = hk::named_tensors(*model)});
//   optimizer.learning_rate().fill_(1e-4);          // of the next step on, compiled or not
#pragma once

#include <ATen/core/Tensor.h>

#include <string>
#include <utility>
#include <vector>

namespace hocket {

struct AdamOptions {
  double learning_rate = 1e-3;
  double beta1 = 0.9;
  double beta2 = 0.999;
  double epsilon = 1e-8;
  double weight_decay = 0;
  bool decoupled = false;  // the decay shrinks the weights themselves, as AdamW does, and not by way of the gradient
};

class Adam {
 public:
  explicit Adam(std::vector<at::Tensor> parameters, const AdamOptions& options = {});

  void zero_grad();
  // Parameters without a gradient are left alone.
  void step();

  // A number as a tensor, f64: set it with fill_().
  at::Tensor learning_rate() const { return learning_rate_; }
  // All that it has to remember: "step", "learning_rate", and "mean.0", "square.0" for each parameter. Copy into these to load.
  std::vector<std::pair<std::string, at::Tensor>> state() const;

 private:
  struct Moments {
    at::Tensor parameter;
    at::Tensor mean;    // of the gradient
    at::Tensor square;  // mean of its square
  };

  AdamOptions options_;
  at::Tensor step_, learning_rate_;
  std::vector<Moments> moments_;
};

}  // namespace hocket
