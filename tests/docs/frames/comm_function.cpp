// The body of a function of a program that has joined a world.
#include "hocket/comm/world.h"

using namespace hocket;

static Status run(const World& world) {
  // BLOCK
  return {};
}

int main() {
  const Result<World> world = World::join();
  if (!world) return 1;
  return run(*world) ? 0 : 1;
}
