// Data-parallel training of a C++ module: every rank has the whole model and its own batches.
//
//   hocket launch -n 2 data_parallel
#include <hocket/comm/world.h>
#include <hocket/torch/collectives.h>
#include <hocket/torch/data_parallel.h>
#include <torch/torch.h>

#include <iostream>

namespace hk = hocket;

struct Net : torch::nn::Module {
  torch::nn::Linear first = register_module("first", torch::nn::Linear(16, 64));
  torch::nn::Linear last = register_module("last", torch::nn::Linear(64, 1));
  at::Tensor forward(const at::Tensor& x) { return last(torch::relu(first(x))); }
};

int main() {
  const auto world = hk::World::join();
  if (!world) {
    std::cerr << world.error().to_string() << "\n";
    return 1;
  }
  torch::manual_seed(world->rank());                              // other batches, and other weights …
  hk::DistributedDataParallel<Net> net(std::make_shared<Net>());  // … until here: those of the first rank
  torch::optim::SGD optimizer(net.parameters(), torch::optim::SGDOptions(0.05).momentum(0.9));

  double first = 0, last = 0;
  for (int step = 0; step < 60; ++step) {
    const at::Tensor x = torch::randn({64, 16});
    const at::Tensor y = x.sum(1, true);
    optimizer.zero_grad();
    const at::Tensor loss = torch::mse_loss(net.forward(x), y);
    loss.backward();  // averages the gradients over the ranks while it computes
    optimizer.step();
    const at::Tensor mean = hk::all_reduce(loss.detach(), "avg");
    (step == 0 ? first : last) = mean.item<double>();
  }
  if (world->rank() == 0) std::cout << "loss " << first << " -> " << last << "\n";

  // All ranks have the same weights.
  const at::Tensor weights = net.module().first->weight.detach();
  const bool same = at::equal(hk::broadcast(weights, 0).wait(), weights);
  return same && last < first ? 0 : 1;
}
