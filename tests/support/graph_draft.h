// A Graph that can be changed: all it says in plain records, with every effect spelled out. Tests take a valid graph apart,
// break one thing and put it together again.
//
//   GraphDraft draft = GraphDraft::of(graph);
//   draft.nodes[3].outputs[0].dtype = Dtype::i64;
//   Result<Graph> broken = draft.build();
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "hocket/ir/graph.h"

namespace hocket {

struct DraftOutput {
  Dtype dtype = Dtype::f32;
  std::vector<Dim> shape;
  std::vector<Dim> strides;
  Dim offset = 0;
  std::string device = "cpu";
  std::size_t storage = 0;  // in GraphDraft::storage_bytes
};

struct DraftNode {
  std::string name;
  NodeKind kind = NodeKind::op;
  std::string op;
  std::vector<Arg> args;
  std::vector<Keyword> keywords;
  std::vector<DraftOutput> outputs;
  bool multi = false;
  bool gemm = false;
  std::optional<std::int64_t> integer;
  Measured measured;
  NodeId view_of;
  NodeId wait_of;
  std::vector<NodeId> mutates;
  std::optional<Collective> collective;
  std::string extra;
};

struct GraphDraft {
  std::string name;
  std::int64_t world_size = -1;
  std::int64_t rank = -1;
  std::vector<std::pair<std::string, std::string>> meta;
  std::vector<Group> groups;
  SymbolTable symbols;
  ArgPool pool;  // arguments refer to it
  std::vector<Dim> storage_bytes;
  std::vector<DraftNode> nodes;

  static GraphDraft of(const Graph& graph);
  Result<Graph> build() const;

  // The nodes that a node's arguments refer to, in order, with repetition.
  std::vector<NodeId> references(const DraftNode& node) const;
  // Gives every reference to a node another target: arguments, views, waits and mutated nodes.
  using Renaming = std::function<NodeId(NodeId)>;
  void redirect(DraftNode& node, const Renaming& renaming);
  void redirect_args(DraftNode& node, const Renaming& renaming);
  // Puts the nodes into this order; references follow.
  void reorder(const std::vector<NodeId>& order);
  // Takes a node out; what refers to it must have been redirected before.
  void erase(NodeId id);

 private:
  Arg redirected(const Arg& arg, const Renaming& renaming);
};

}  // namespace hocket
