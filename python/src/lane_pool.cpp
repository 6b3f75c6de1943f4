#include "lane_pool.h"

#include <algorithm>

#include "hocket/comm/communicator.h"

namespace hocket {

namespace {

constexpr std::size_t most_offered = 16;  // lanes: what is told has the same size on all ranks

// What every rank has told of the lane with that number, if all have.
std::vector<const std::int64_t*> said_of(std::int64_t number, const std::vector<std::int64_t>& told, int ranks) {
  const std::size_t words = GroupLane::words(ranks);
  std::vector<const std::int64_t*> said;
  for (std::size_t place = 0; place < static_cast<std::size_t>(ranks); ++place) {
    const std::int64_t* const first = told.data() + place * most_offered * words;
    for (std::size_t offer = 0; offer < most_offered; ++offer) {
      if (first[offer * words] == number) said.push_back(first + offer * words);
    }
  }
  if (said.size() != static_cast<std::size_t>(ranks)) said.clear();
  return said;
}

}  // namespace

void LanePool::add(const Ranks& ranks, std::shared_ptr<GroupLane> lane) {
  const std::lock_guard lock(mutex_);
  lanes_[ranks].push_back(std::move(lane));
}

// In an order that is the same on all ranks.
std::vector<std::shared_ptr<GroupLane>> LanePool::offers(const Ranks& ranks) {
  std::vector<std::shared_ptr<GroupLane>> free;
  {
    const std::lock_guard lock(mutex_);
    for (const auto& lane : lanes_[ranks]) {
      if (lane->is_free()) free.push_back(lane);
    }
  }
  std::sort(free.begin(), free.end(), [](const auto& a, const auto& b) { return a->number() < b->number(); });
  free.resize(std::min(free.size(), most_offered));
  return free;
}

Result<std::shared_ptr<GroupLane>> LanePool::take(const Ranks& ranks, const std::shared_ptr<Lane>& control,
                                                  std::chrono::milliseconds timeout) {
  const int count = static_cast<int>(ranks.size());
  const std::vector<std::shared_ptr<GroupLane>> mine = offers(ranks);
  std::vector<std::int64_t> tell(most_offered * GroupLane::words(count));
  for (std::size_t i = 0; i < mine.size(); ++i) mine[i]->describe(tell.data() + i * GroupLane::words(count));
  std::vector<std::int64_t> told(tell.size() * ranks.size());
  CallOptions options;
  options.blocking = true;
  options.timeout = timeout;
  options.site = CallSite{"", 0};
  HOCKET_CHECK(Communicator(control)
                   .all_gather(tell.data(), told.data(), static_cast<std::int64_t>(tell.size()), Dtype::i64, options)
                   .wait());
  for (const std::shared_ptr<GroupLane>& lane : mine) {
    const std::vector<const std::int64_t*> said = said_of(lane->number(), told, count);
    if (said.empty() || !is_quiet(said)) continue;
    lane->take();
    return lane;
  }
  return std::shared_ptr<GroupLane>();
}

}  // namespace hocket
