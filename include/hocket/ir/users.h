// Who uses a value: the nodes that take it as an argument, in program order.
#pragma once

#include <span>
#include <vector>

#include "hocket/ir/graph.h"

namespace hocket {

class Users {
 public:
  explicit Users(const Graph& graph);
  std::span<const NodeId> of(NodeId id) const {
    return std::span(users_).subspan(begin_[id.index()], begin_[id.index() + 1] - begin_[id.index()]);
  }

 private:
  std::vector<std::uint32_t> begin_;
  std::vector<NodeId> users_;
};

}  // namespace hocket
