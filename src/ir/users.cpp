#include "hocket/ir/users.h"

namespace hocket {

Users::Users(const Graph& graph) : begin_(graph.size() + 1) {
  for (std::size_t i = 0; i < graph.size(); ++i) {
    for (const NodeId input : graph.inputs(NodeId(i))) ++begin_[input.index() + 1];
  }
  for (std::size_t i = 0; i < graph.size(); ++i) begin_[i + 1] += begin_[i];
  users_.resize(begin_.back());
  std::vector<std::uint32_t> next(begin_.begin(), begin_.end() - 1);
  for (std::size_t i = 0; i < graph.size(); ++i) {
    for (const NodeId input : graph.inputs(NodeId(i))) users_[next[input.index()]++] = NodeId(i);
  }
}

}  // namespace hocket
