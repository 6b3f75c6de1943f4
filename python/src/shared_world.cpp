#include "shared_world.h"

#include <algorithm>
#include <numeric>

#include "comm/world_factory.h"
#include "hocket/base/digest.h"
#include "torch/store_world.h"

namespace hocket {

namespace {

// The world of the default group, as long as one of its groups lives.
std::mutex default_mutex;
std::weak_ptr<SharedWorld> default_world;  // guarded by default_mutex

bool ascend(const std::vector<std::int32_t>& ranks) {
  return std::adjacent_find(ranks.begin(), ranks.end(), std::greater_equal<>()) == ranks.end();
}

}  // namespace

// hocket's groups are in the order of ranks; one in another order has a world in which its places are the ranks.
bool SharedWorld::has(const GroupRequest& request) const {
  const std::vector<std::int32_t>& ranks = request.world_ranks;
  return !ranks.empty() && ascend(ranks) && ranks.back() < world_.size() &&
         ranks[static_cast<std::size_t>(request.rank)] == world_.rank();
}

Result<std::shared_ptr<SharedWorld>> SharedWorld::of(const GroupRequest& request) {
  const std::lock_guard lock(default_mutex);
  if (const auto shared = default_world.lock(); shared && shared->has(request)) return shared;
  WorldOptions options;
  options.join_timeout = request.timeout;
  options.timeout = request.timeout;
  HOCKET_TRY(World world, join_at(request.store, request.rank, request.size, options));
  auto made = std::make_shared<SharedWorld>(std::move(world));
  if (request.world_ranks.empty()) default_world = made;
  return made;
}

// A group that has a world of its own takes the lane along when it goes. So does the default group.
Result<std::shared_ptr<GroupLane>> SharedWorld::lane(const GroupRequest& request) {
  Ranks ranks = request.world_ranks;
  if (!has(request)) {
    ranks.resize(static_cast<std::size_t>(world_.size()));
    std::iota(ranks.begin(), ranks.end(), 0);
    return new_lane(ranks, request.name);
  }
  HOCKET_TRY(const std::shared_ptr<Lane> control, WorldFactory::lane(world_, ranks, "c10d groups"));
  HOCKET_TRY(std::shared_ptr<GroupLane> lane, pool_.take(ranks, control, request.timeout));
  if (lane) return lane;
  HOCKET_TRY(lane, new_lane(ranks, request.name));
  pool_.add(ranks, lane);
  return lane;
}

Result<std::shared_ptr<GroupLane>> SharedWorld::new_lane(const Ranks& ranks, const std::string& name) {
  std::unique_lock lock(mutex_);
  const std::string purpose = fmt::format("c10d group {}, number {}", name, ++made_[name]);
  lock.unlock();
  HOCKET_TRY(std::shared_ptr<Lane> lane, WorldFactory::lane(world_, ranks, purpose));
  const auto number = static_cast<std::int64_t>(Digester().add(purpose).finish().low | 1U);
  return std::make_shared<GroupLane>(std::move(lane), number, static_cast<int>(ranks.size()));
}

}  // namespace hocket
