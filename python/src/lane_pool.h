// The lanes of groups that were destroyed, for groups of the same ranks that are made later.
#pragma once

#include <chrono>
#include <map>
#include <mutex>

#include "group_lane.h"
#include "hocket/base/error.h"
#include "hocket/comm/mesh.h"

namespace hocket {

class LanePool {
 public:
  // A lane that all ranks have given back, or nothing. Collective over the ranks, which tell each other over `control`, a lane that
  // no group has.
  Result<std::shared_ptr<GroupLane>> take(const Ranks& ranks, const std::shared_ptr<Lane>& control,
                                          std::chrono::milliseconds timeout);
  void add(const Ranks& ranks, std::shared_ptr<GroupLane> lane);

 private:
  std::vector<std::shared_ptr<GroupLane>> offers(const Ranks& ranks);

  std::mutex mutex_;  // guards lanes_
  std::map<Ranks, std::vector<std::shared_ptr<GroupLane>>> lanes_;
};

}  // namespace hocket
