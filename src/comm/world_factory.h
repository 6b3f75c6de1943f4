// Makes a world of ranks that have met already. World::join() and World::threads() do so; tests make worlds on hosts of their own.
#pragma once

#include "comm/neighbourhood.h"
#include "hocket/comm/world.h"

namespace hocket {

class WorldFactory {
 public:
  // `transport` is the name of the way in which ranks share a host.
  // Collective over all ranks of the wire. The new world is the current one, as after World::join().
  static Result<World> join_over(LaunchInfo launch, WorldOptions options, std::shared_ptr<Wire> wire);
  static World make(LaunchInfo launch, WorldOptions options, Neighbourhood neighbours, const char* transport);
};

}  // namespace hocket
