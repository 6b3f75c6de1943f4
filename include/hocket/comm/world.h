// All ranks of a program, and this one's place among them.
//
//   HOCKET_TRY(World world, World::join());
//   HOCKET_TRY(Mesh mesh, world.mesh({{"dp", 2}, {"tp", 2}}));
//   HOCKET_TRY(Communicator tp, world.communicator(mesh["tp"]));
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <vector>

#include "hocket/comm/communicator.h"
#include "hocket/comm/group.h"
#include "hocket/comm/launch_info.h"

namespace hocket {

struct WorldOptions {
  std::chrono::milliseconds join_timeout{120'000};  // until all ranks have come
  std::chrono::milliseconds timeout{300'000};       // for each call that says nothing else
};

// A value; copies are the same world. When the last one and the last Communicator are gone, the other ranks are told that
// this one has left.
class World {
 public:
  // Collective over all ranks of the program. Finds out how the process was started: torchrun, mpirun, srun, hocket launch, or
  // alone.
  static Result<World> join(WorldOptions options = {});
  // Ranks as threads of this process, one world for each.
  static Result<std::vector<World>> threads(std::int32_t count, WorldOptions options = {});
  // The world of functions that are given none: that of this thread's innermost WorldScope, else the one that join() made last,
  // as long as a copy of it is there.
  static Result<World> current();

  std::int32_t rank() const;
  std::int32_t size() const;
  const LaunchInfo& launch() const;

  // Makes no communication. See GroupTable.
  Result<GroupHandle> group(const GroupRef& ref) const;
  Status add_name(std::string name, const GroupRef& ref) const;
  Result<Mesh> mesh(std::vector<MeshDim> dims) const;
  Result<Mesh> mesh(std::vector<MeshDim> dims, Ranks ranks) const;

  // Collective over the group's ranks, the first time.
  Result<Communicator> communicator(const GroupRef& ref = "world") const;

 private:
  friend class WorldFactory;
  struct State;
  struct Joined;
  void make_current() const;
  explicit World(std::shared_ptr<State> state) : state_(std::move(state)) {}
  std::shared_ptr<State> state_;
};

// While one lives, its world is the current one of this thread: for ranks as threads. Scopes end in the reverse order.
class WorldScope {
 public:
  explicit WorldScope(World world);
  ~WorldScope();
  WorldScope(const WorldScope&) = delete;
  WorldScope& operator=(const WorldScope&) = delete;

 private:
  World world_;
  const World* outer_;
};

}  // namespace hocket
