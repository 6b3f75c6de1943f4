// The body of a function of a program that has joined a world and has tensors.
#include <ATen/ATen.h>

#include <cstdio>

#include "hocket/comm/world.h"
#include "hocket/torch/classic_collectives.h"
#include "hocket/torch/collectives.h"
#include "hocket/torch/point_to_point.h"
#include "hocket/torch/symmetric_tensor.h"

using namespace hocket;

static void run(const World& world) {
  const at::Tensor x = at::ones({4, 6});
  static_cast<void>(world);
  static_cast<void>(x);
  // BLOCK
}

int main() {
  const Result<World> world = World::join();
  if (!world) return 1;
  run(*world);
  return 0;
}
