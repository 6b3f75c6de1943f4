#include "fuse/arrangement.h"

#include <algorithm>

namespace hocket::fuse {

namespace {

// Right behind `earlier`, among others in the old order.
Place right_behind(Place earlier, NodeId id) {
  if (earlier.phase == Place::at || earlier.phase == Place::raised || earlier.phase == Place::fused)
    earlier.phase = Place::behind;
  return {earlier.position, earlier.phase, id.value};
}

}  // namespace

void follow(const OrderConstraints& constraints, const std::vector<bool>& fixed, std::vector<Place>& places) {
  for (std::size_t i = 0; i + 1 < places.size(); ++i) {
    if (fixed[i]) continue;
    const NodeId id(i);
    Place latest = place_of(id);
    for (const NodeId earlier : constraints.before(id)) latest = std::max(latest, places[earlier.index()]);
    places[i] = latest == place_of(id) ? latest : right_behind(latest, id);
  }
  if (!places.empty()) places.back() = place_of(NodeId(places.size() - 1));
}

std::vector<NodeId> order_by(const std::vector<Place>& places) {
  std::vector<NodeId> order;
  for (std::size_t i = 0; i < places.size(); ++i) order.emplace_back(i);
  std::stable_sort(order.begin(), order.end(),
                   [&](NodeId a, NodeId b) { return places[a.index()] < places[b.index()]; });
  return order;
}

}  // namespace hocket::fuse
