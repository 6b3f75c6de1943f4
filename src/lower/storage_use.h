// What a graph says about its storages and numbers as a whole, found before the first step is emitted.
#pragma once

#include <vector>

#include "hocket/ir/graph.h"

namespace hocket {

class StorageUse {
 public:
  explicit StorageUse(const Graph& graph);

  // The last node that takes or gives a tensor of the storage; the output node where it is returned.
  NodeId last_use(StorageId storage) const { return last_use_[storage.index()]; }
  bool is_written(StorageId storage) const { return written_[storage.index()]; }  // by a node that mutates it
  // Is the storage an input's, an attribute's, or made by an operator?
  NodeKind made_by(StorageId storage) const { return made_by_[storage.index()]; }

  // Of nodes that give no tensor:
  bool is_used(NodeId node) const { return used_[node.index()]; }          // by an operator or the output
  bool is_returned(NodeId node) const { return returned_[node.index()]; }  // by the output
  // Its value follows from sizes that the graph knows, whatever the data: it need not be computed.
  bool is_known_number(NodeId node) const { return known_[node.index()] && graph_.integer(node); }

 private:
  void note_node(NodeId id);
  bool follows_from_sizes(NodeId id) const;

  const Graph& graph_;
  std::vector<NodeId> last_use_;
  std::vector<bool> written_;
  std::vector<NodeKind> made_by_;
  std::vector<bool> used_, returned_, known_;
};

}  // namespace hocket
