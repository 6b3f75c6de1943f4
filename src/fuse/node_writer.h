// Adds the new nodes of one bucket: named after it, with the time that they take.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "hocket/cost/cost_model.h"
#include "hocket/ir/rewrite.h"

namespace hocket::fuse {

class NodeWriter {
 public:
  // `cost` may be absent: then the new nodes have no times.
  NodeWriter(GraphRewriter& rewriter, const CostModel* cost, std::string prefix)
      : rewriter_(rewriter), cost_(cost), prefix_(std::move(prefix)) {}

  // The name is the bucket's, then `stem`, then the number of the member where one is given.
  // `outputs`: where the operator's row can't tell.
  NodeId op(std::string_view op, const std::vector<ArgInit>& args, std::string_view stem, int member = -1,
            std::vector<OutputSpec> outputs = {});
  NodeId getitem(NodeId list, std::size_t index, std::string_view stem) {
    return op("getitem", {list, static_cast<std::int64_t>(index)}, stem, static_cast<int>(index));
  }
  NodeId wait(NodeId result, int member = -1) { return op("_c10d_functional.wait_tensor", {result}, "wait", member); }

  NodeId now(NodeId old) const { return rewriter_.now(old); }
  const Graph& from() const { return rewriter_.from(); }
  GraphRewriter& rewriter() { return rewriter_; }

  // An argument of the old graph that refers to no node: a number, a text, a group. Ids of texts and groups stay the same.
  static ArgInit same(const Arg& arg) {
    return ArgInit(arg);
  }  // NOLINT(modernize-return-braced-init-list): a list it is not

 private:
  void estimate(NodeId id);

  GraphRewriter& rewriter_;
  const CostModel* cost_;
  std::string prefix_;
};

// Sizes of a tensor of the old graph as an argument.
ArgInit sizes_of(const Graph& graph, NodeId id);
std::int64_t elements_of(const Graph& graph, NodeId id);

}  // namespace hocket::fuse
