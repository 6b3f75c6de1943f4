// Collectives as functions on tensors: they return at once, and the first use waits.
//
//   hocket launch -n 2 functional_collectives
#include <hocket/comm/world.h>
#include <hocket/torch/collectives.h>
#include <torch/torch.h>

#include <iostream>

namespace hk = hocket;

int main() {
  const auto world = hk::World::join();  // hocket launch, torchrun, mpirun, srun, or alone
  if (!world) {
    std::cerr << world.error().to_string() << "\n";
    return 1;
  }
  const int rank = world->rank(), ranks = world->size();

  // Two communications that run while this rank computes.
  const at::Tensor x = torch::full({2, 3}, rank + 1.0);
  const hk::AsyncTensor sum = hk::all_reduce(x, "sum");
  const hk::AsyncTensor rows = hk::all_gather_into_tensor(x);
  const at::Tensor meanwhile = torch::mm(x, x.t());

  // A view doesn't wait, arithmetic does.
  const hk::AsyncTensor flat = sum.view({6});
  const at::Tensor mean = flat / ranks;
  bool right = at::equal(mean, torch::full({6}, (ranks + 1) / 2.0)) && rows->size(0) == 2 * ranks;

  // They are differentiable: the gradient of a sum is the sum of the gradients.
  const at::Tensor w = torch::ones({4}, torch::requires_grad());
  const at::Tensor loss = (hk::all_reduce(w * (rank + 1.0), "sum") * 2.0).sum();
  loss.backward();
  right = right && at::equal(w.grad(), torch::full({4}, 2.0 * ranks * (rank + 1.0)));

  // A group of some ranks, and messages along a ring.
  const at::Tensor token = torch::tensor({rank});
  std::vector<std::int32_t> next;
  for (int i = 0; i < ranks; ++i) next.push_back((i + 1) % ranks);
  const at::Tensor from_left = hk::permute_tensor(token, next);
  right = right && from_left.item<int>() == (rank + ranks - 1) % ranks;

  if (rank == 0)
    std::cout << "sum over " << ranks << " ranks:\n" << sum << "\n" << meanwhile.sum().item<float>() << "\n";
  return right ? 0 : 1;
}
