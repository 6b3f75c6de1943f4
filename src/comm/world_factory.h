// Makes a world of ranks that have met already. World::join() and World::threads() do so; tests make worlds on hosts of their own.
#pragma once

#include "comm/neighbourhood.h"
#include "hocket/comm/world.h"

namespace hocket {

class WorldFactory {
 public:
  // `transport` is the name of the way in which ranks share a host.
  static World make(LaunchInfo launch, WorldOptions options, Neighbourhood neighbours, const char* transport);
};

}  // namespace hocket
