// A mesh of two dimensions: linear layers cut over "tp", parameters and optimizer state cut over "dp".
//
//   hocket launch -n 4 sharded_mesh
#include <hocket/comm/world.h>
#include <hocket/torch/collectives.h>
#include <hocket/torch/fully_shard.h>
#include <hocket/torch/tensor_parallel.h>
#include <torch/torch.h>

#include <iostream>

namespace hk = hocket;

struct LayerImpl : torch::nn::Module {
  hk::ColumnParallelLinear widen{nullptr};
  hk::RowParallelLinear narrow{nullptr};

  LayerImpl(std::int64_t width, const hk::GroupRef& tp) {
    widen =
        register_module("widen", hk::ColumnParallelLinear(width, 4 * width, hk::TensorParallelOptions{.group = tp}));
    narrow = register_module("narrow", hk::RowParallelLinear(4 * width, width, hk::TensorParallelOptions{.group = tp}));
  }
  at::Tensor forward(const at::Tensor& x) { return x + narrow(torch::gelu(widen(x))); }
};
TORCH_MODULE(Layer);

struct Net : torch::nn::Module {
  torch::nn::ModuleList layers = register_module("layers", torch::nn::ModuleList());

  explicit Net(const hk::GroupRef& tp) {
    for (int i = 0; i < 3; ++i) layers->push_back(Layer(32, tp));
  }
  at::Tensor forward(at::Tensor x) {
    for (const auto& layer : *layers) x = layer->as<Layer>()->forward(x);
    return x;
  }
};

int main() {
  const auto world = hk::World::join();
  if (!world) {
    std::cerr << world.error().to_string() << "\n";
    return 1;
  }
  const int tp = world->size() % 2 == 0 ? 2 : 1;
  const auto mesh = world->mesh({{"dp", world->size() / tp}, {"tp", tp}});
  if (!mesh) {
    std::cerr << mesh.error().to_string() << "\n";
    return 1;
  }
  torch::manual_seed(1);
  auto net = hk::fully_shard(std::make_shared<Net>((*mesh)["tp"]), {.group = (*mesh)["dp"]});
  torch::optim::AdamW optimizer(net.parameters(), torch::optim::AdamWOptions(0.01));  // its state is in parts, too

  torch::manual_seed(10 + world->rank() / tp);  // ranks of one tp group have the same batch
  double first = 0, last = 0;
  for (int step = 0; step < 40; ++step) {
    const at::Tensor x = torch::randn({16, 32});
    optimizer.zero_grad();
    const at::Tensor loss = torch::mse_loss(net.forward(x), torch::tanh(x));
    loss.backward();
    optimizer.step();
    const at::Tensor mean = hk::all_reduce(loss.detach(), "avg");
    (step == 0 ? first : last) = mean.item<double>();
  }
  const auto state = net.full_state();  // whole in "dp"; each tp rank has its part of the layers
  if (world->rank() == 0)
    std::cout << "loss " << first << " -> " << last << ", " << state.size() << " tensors to save\n";
  return last < first ? 0 : 1;
}
