// Makes a world of ranks that have met already. World::join() and World::threads() do so; tests make worlds on hosts of their own.
#pragma once

#include "comm/neighbourhood.h"
#include "hocket/comm/world.h"

namespace hocket {

class Lane;

class WorldFactory {
 public:
  // `transport` is the name of the way in which ranks share a host.
  // Collective over all ranks of the wire. The new world is the current one, as after World::join().
  static Result<World> join_over(LaunchInfo launch, WorldOptions options, std::shared_ptr<Wire> wire);
  // Collective over `size` ranks that are all on this host, and all know the place. The new world is the current one.
  static Result<World> join_at(const MeetingPlace& place, LaunchInfo launch, WorldOptions options);
  // Collective over the group's ranks, the first time. One of several lanes of the same ranks, each for a purpose of its own: their calls,
  // messages and symmetric memory have nothing to do with each other. Communicators of the world have the purpose "". A lane stays as
  // long as the world.
  static Result<std::shared_ptr<Lane>> lane(const World& world, const GroupRef& ref, const std::string& purpose);
  static World make(LaunchInfo launch, WorldOptions options, Neighbourhood neighbours, const char* transport);
};

}  // namespace hocket
