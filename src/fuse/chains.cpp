#include "fuse/chains.h"

#include <algorithm>

namespace hocket::fuse {

bool Chains::is_in_chain(NodeId collective) const {
  const auto class_of = [&](NodeId id) {
    const Collective* own = graph_.collective(id);
    return own == nullptr ? Class() : Class(own->kind, own->group);
  };
  const Class wanted = class_of(collective);
  const auto [entry, is_new] = known_.try_emplace(wanted, false);
  if (!is_new) return entry->second;
  std::vector<std::uint32_t> before(graph_.size(), 0);  // of the class, on the path to each node that has most
  std::uint32_t all = 0;
  std::uint32_t longest = 0;
  for (std::size_t i = 0; i < graph_.size(); ++i) {
    for (const NodeId input : graph_.inputs(NodeId(i))) before[i] = std::max(before[i], before[input.index()]);
    if (graph_.collective(NodeId(i)) == nullptr || class_of(NodeId(i)) != wanted) continue;
    ++all;
    longest = std::max(longest, ++before[i]);
  }
  entry->second = longest * 4 > all && longest > 1;
  return entry->second;
}

}  // namespace hocket::fuse
