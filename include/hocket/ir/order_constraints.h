// What must come before what: every order that keeps these pairs computes the same.
//
//   const OrderConstraints constraints(graph);
//   for (NodeId earlier : constraints.before(id)) …       // arguments, and everything else that has to be done first
//   for (NodeId later : constraints.after(id)) …
//
// Besides its arguments a node comes after
//   - the last write of a storage that it touches, and, if it writes, after everything that touched the storage since;
//     a wait counts as the write of its result (the first one of all results of its collective) and as a read of what the
//     collective was reading;
//   - the last node with a side effect, if it has one itself;
//   - the last opaque operator; an opaque operator comes after everything.
// The graph must be in a valid order. The lists are closed only together: a pair may follow from two others.
#pragma once

#include <span>
#include <vector>

#include "hocket/ir/graph.h"

namespace hocket {

class OrderConstraints {
 public:
  explicit OrderConstraints(const Graph& graph);

  std::span<const NodeId> before(NodeId id) const { return slice(before_begin_, before_, id); }
  std::span<const NodeId> after(NodeId id) const { return slice(after_begin_, after_, id); }

 private:
  static std::span<const NodeId> slice(const std::vector<std::uint32_t>& begin, const std::vector<NodeId>& list,
                                       NodeId id) {
    return std::span(list).subspan(begin[id.index()], begin[id.index() + 1] - begin[id.index()]);
  }

  std::vector<std::uint32_t> before_begin_;
  std::vector<NodeId> before_;
  std::vector<std::uint32_t> after_begin_;
  std::vector<NodeId> after_;
};

}  // namespace hocket
