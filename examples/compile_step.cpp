// A training step as one program: communication hidden behind computation, within a memory limit.
//
//   hocket launch -n 2 compile_step
#include <hocket/comm/world.h>
#include <hocket/torch/compile.h>
#include <hocket/torch/data_parallel.h>
#include <torch/torch.h>

#include <iostream>

namespace hk = hocket;

struct Net : torch::nn::Module {
  torch::nn::ModuleList layers = register_module("layers", torch::nn::ModuleList());
  Net() {
    for (int i = 0; i < 6; ++i) layers->push_back(torch::nn::Linear(128, 128));
  }
  at::Tensor forward(at::Tensor x) {
    for (const auto& layer : *layers) x = torch::relu(layer->as<torch::nn::Linear>()->forward(x));
    return x;
  }
};

int main() {
  const auto world = hk::World::join();
  if (!world) {
    std::cerr << world.error().to_string() << "\n";
    return 1;
  }
  auto model = std::make_shared<Net>();
  hk::DistributedDataParallel<Net> net(model);
  torch::optim::SGD optimizer(model->parameters(), 0.1);
  const auto train = [&](const std::vector<at::Tensor>& batch) -> std::vector<at::Tensor> {
    optimizer.zero_grad();
    const at::Tensor loss = torch::mse_loss(net.forward(batch[0]), batch[1]);
    loss.backward();
    optimizer.step();
    return {loss.detach()};
  };

  const at::Tensor x = torch::rand({64, 128});
  hk::StepOptions options;
  options.parameters = hk::named_tensors(*model);
  options.memory_limit.relative = 1.05;  // of the peak that the captured order has
  options.measured_runs = 2;             // decide by what kernels and collectives take here
  auto step = hk::compile(train, {x, x}, options);
  if (!step) {
    std::cerr << step.error().to_string() << "\n";
    return 1;
  }
  const double first = (*step)({x, x})[0].item<double>();
  double last = first;
  for (int i = 0; i < 30; ++i) last = (*step)({x, x})[0].item<double>();

  if (world->rank() == 0) {
    const hk::Compiled& compiled = step->compiled();
    std::cout << "loss " << first << " -> " << last << "\n"
              << "collectives " << compiled.before.collectives << " -> " << compiled.after.collectives << "\n"
              << "planned memory " << step->executor().planned().count << " bytes\n";
  }
  return last < first ? 0 : 1;
}
