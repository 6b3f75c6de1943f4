#include "plan/packing.h"

#include <algorithm>

namespace hocket {

std::int64_t packing_bound(std::span<const Block> blocks) {
  struct Event {
    std::size_t when;
    std::int64_t change;
  };
  std::vector<Event> events;
  for (const Block& block : blocks) {
    events.push_back({block.first, block.size});
    events.push_back({block.last + 1, -block.size});
  }
  std::sort(events.begin(), events.end(),
            [](const Event& a, const Event& b) { return a.when != b.when ? a.when < b.when : a.change < b.change; });
  std::int64_t live = 0;
  std::int64_t most = 0;
  for (const Event& event : events) most = std::max(most, live += event.change);
  return most;
}

Packing pack(std::span<const Block> blocks, std::int64_t effort) {
  Packing best = pack_in_time(blocks);
  if (is_close(best.size, packing_bound(blocks))) return best;
  Packing other = pack_by_priority(blocks, effort);
  return other.size < best.size ? other : best;
}

}  // namespace hocket
