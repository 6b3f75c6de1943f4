// Which collectives follow from each other one after the other, so that little can be merged.
#pragma once

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "hocket/ir/graph.h"

namespace hocket::fuse {

class Chains {
 public:
  explicit Chains(const Graph& graph) : graph_(graph) {}

  // More than a quarter of the collectives of this one's kind and group are on one path.
  bool is_in_chain(NodeId collective) const;

 private:
  using Class = std::pair<CollectiveKind, GroupId>;

  const Graph& graph_;
  mutable std::map<Class, bool> known_;
};

}  // namespace hocket::fuse
