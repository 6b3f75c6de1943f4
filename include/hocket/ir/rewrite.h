// Makes a changed copy of a graph: old nodes in any order, new ones between them, and uses of an old value that name a new one.
//
//   GraphRewriter rewriter(graph);
//   for (std::size_t i = 0; i < graph.size(); ++i) {
//     if (NodeId(i) == relu) rewriter.replace(relu, rewriter.op("aten.gelu", {rewriter.now(x)}, "gelu"));
//     else rewriter.copy(NodeId(i));
//   }
//   Result<Graph> changed = rewriter.finish();
//
// The first mistake is kept and returned by finish(); calls after it do nothing and return NodeId::none().
#pragma once

#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_set>
#include <utility>
#include <vector>

#include "hocket/ir/builder.h"

namespace hocket {

// What a pass over graphs gives.
struct RewriteResult {
  std::optional<Graph> graph;      // absent: nothing changed
  std::string report;              // what it did, in a line
  std::vector<std::string> notes;  // what it left alone, and why
};

class GraphRewriter {
 public:
  explicit GraphRewriter(const Graph& from);

  // Appends a copy of an old node, with all that the old graph says of it. Its arguments are the new nodes that stand for its
  // old ones; those must be there already. Where one of them lies in other memory than it did, so does a view of it.
  NodeId copy(NodeId old);
  // Appends another copy of a node that is there already, in memory of its own, or of a view where what it views lies by now. The uses of
  // `old` name this one from now on. The name gets a number where it is taken.
  NodeId copy_again(NodeId old, std::string_view name);
  // From now on the uses of `old` name `by`, a new node.
  void replace(NodeId old, NodeId by);
  // The new node that stands for an old one: its copy, or what replaced it; none() while there is neither.
  NodeId now(NodeId old) const { return now_[old.index()]; }

  // Appends a new node, as GraphBuilder::op(): the types follow from the operator's row. The name gets a number where it is taken.
  // It lies on the device of its first argument that is a tensor.
  NodeId op(std::string_view op, const std::vector<ArgInit>& args, std::string_view name,
            const std::vector<std::pair<std::string, ArgInit>>& keywords = {}, std::vector<OutputSpec> outputs = {});
  // How long a new node takes. A graph with captured times needs one for each node: a node without has none that count.
  void set_time(NodeId node, Nanoseconds time);

  const Graph& from() const { return from_; }
  GraphBuilder& builder() { return builder_; }
  const Graph& graph() const { return builder_.graph(); }  // so far
  // A name that neither the old nor the new graph has.
  std::string unique_name(std::string_view wanted);

  Result<Graph> finish();

 private:
  void fail_with(std::string message, NodeId old);
  NodeId add_copy(NodeId old, std::string_view name);  // in memory of its own where moved() says so
  Arg mapped(const Arg& arg, NodeId user);
  bool joins_inputs(NodeId old) const;  // one node stands for several of its inputs from now on
  // The type of a view whose operator has no shape function, now that `base` stands for what it views: the type of the base where
  // it had that (the result of an `out=`), or as before at the same distance. None where only a shape function could tell.
  std::optional<OutputSpec> type_beside(NodeId old, NodeId base) const;
  bool moved(NodeId old) const { return moved_[old.index()]; }

  const Graph& from_;
  GraphBuilder builder_;
  std::vector<NodeId> now_;
  std::vector<bool> moved_;                     // by old node: what stands for it lies elsewhere than it did
  std::unordered_set<std::string_view> names_;  // of both graphs, once somebody asks for one that neither has
  std::deque<std::string> new_names_;           // that names_ has
  std::optional<Error> error_;
  // Of add_copy(), kept from node to node: graphs have tens of thousands.
  std::vector<Arg> args_;
  std::vector<Keyword> keywords_;
  std::vector<NodeId> mutates_;
  std::vector<OutputSpec> outputs_;
};

// The same graph with its nodes in another order: each once, arguments before their uses.
Result<Graph> with_order(const Graph& graph, std::span<const NodeId> order);

}  // namespace hocket
