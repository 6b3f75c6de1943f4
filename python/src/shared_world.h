// The world of a program's default process group, which its other groups share.
#pragma once

#include <torch/csrc/distributed/c10d/Store.hpp>

#include <map>
#include <mutex>

#include "hocket/comm/world.h"
#include "lane_pool.h"

namespace hocket {

// What c10d says of a group that is made.
struct GroupRequest {
  c10::intrusive_ptr<c10d::Store> store;  // of the group alone
  int rank = 0;
  int size = 1;
  std::chrono::milliseconds timeout{};
  std::string name;
  std::vector<std::int32_t> world_ranks;  // by place; empty for the default group
};

// One for each default group. A group whose program has no default group of hocket's has one of its own.
class SharedWorld {
 public:
  // Collective over the ranks of the group.
  static Result<std::shared_ptr<SharedWorld>> of(const GroupRequest& request);

  explicit SharedWorld(World world) : world_(std::move(world)) {}
  // Collective over the ranks of the group. Every request gets a lane that no other group has, also for ranks that have one.
  Result<std::shared_ptr<GroupLane>> lane(const GroupRequest& request);

 private:
  bool has(const GroupRequest& request) const;
  Result<std::shared_ptr<GroupLane>> new_lane(const Ranks& ranks, const std::string& name);

  World world_;
  std::mutex mutex_;  // guards made_
  // How many groups have had that name: one that was destroyed leaves its name to another.
  std::map<std::string, int> made_;
  LanePool pool_;
};

}  // namespace hocket
