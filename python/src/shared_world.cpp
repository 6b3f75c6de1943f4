#include "shared_world.h"

#include <algorithm>
#include <numeric>

#include "comm/world_factory.h"
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

Result<std::shared_ptr<Lane>> SharedWorld::lane(const GroupRequest& request) {
  Ranks ranks = request.world_ranks;
  if (!has(request)) {
    ranks.resize(static_cast<std::size_t>(world_.size()));
    std::iota(ranks.begin(), ranks.end(), 0);
  }
  std::unique_lock lock(mutex_);
  const int number = ++made_[request.name];
  lock.unlock();
  return WorldFactory::lane(world_, ranks, fmt::format("c10d group {}, number {}", request.name, number));
}

}  // namespace hocket
