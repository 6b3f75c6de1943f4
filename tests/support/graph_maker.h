// What the random shapes have in common: a builder that names nodes, gives them random facts, and knows the groups.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "hocket/ir/builder.h"
#include "support/random.h"
#include "support/random_graph.h"

namespace hocket {

class GraphMaker {
 public:
  GraphMaker(std::string_view name, Random& random, const RandomGraphOptions& options);

  Random& random() { return random_; }
  const RandomGraphOptions& options() const { return options_; }
  GraphBuilder& builder() { return builder_; }

  // Group `name` of `size` ranks, `apart` ranks apart, with rank 0 in it.
  GroupId group(std::string name, int size, int apart = 1);
  int size_of(GroupId group) const { return sizes_[group.index()]; }

  NodeId input(std::string_view stem, std::vector<Dim> shape, Dtype dtype = Dtype::f32);
  NodeId op(std::string_view op, std::vector<Arg> args,
            std::initializer_list<std::pair<const char*, Arg>> keywords = {});
  NodeId integer(std::string_view op, std::vector<Arg> args, std::int64_t value);
  NodeId opaque(std::string_view op, std::vector<Arg> args, Dtype dtype, std::vector<Dim> shape);

  NodeId getitem(NodeId list, std::int64_t index) { return op("getitem", {Arg::value(list), Arg::integer(index)}); }
  NodeId wait(NodeId result) { return op("_c10d_functional.wait_tensor", {Arg::value(result)}); }
  NodeId all_reduce(NodeId value, GroupId group, const char* reduce = "sum");
  NodeId all_gather(NodeId value, GroupId group);
  NodeId reduce_scatter(NodeId value, GroupId group, const char* reduce = "sum");

  Arg text(std::string_view text) { return builder_.string(text); }
  Arg sizes(std::initializer_list<std::int64_t> numbers) { return sizes(std::vector<std::int64_t>(numbers)); }
  Arg sizes(const std::vector<std::int64_t>& numbers);
  Arg values(const std::vector<NodeId>& nodes);
  Arg list(std::span<const Arg> args) { return builder_.list(args); }

  TypeView type(NodeId node) const;
  std::vector<Dim> shape(NodeId node) const;

  // Throws std::logic_error if a node could not be made: a defect of the generator or of the operator table.
  Graph finish(const std::vector<NodeId>& results);

 private:
  NodeId add(NodeSpec spec, std::string_view stem);
  std::string name(std::string_view stem);
  Measured facts(const OpSpec* spec);

  Random& random_;
  const RandomGraphOptions& options_;
  GraphBuilder builder_;
  std::vector<int> sizes_;
  int named_ = 0;
};

// One function for each shape.
Graph make_ddp(GraphMaker& maker);
Graph make_fsdp(GraphMaker& maker);
Graph make_tensor_parallel(GraphMaker& maker);
Graph make_experts(GraphMaker& maker);
Graph make_dag(GraphMaker& maker);

}  // namespace hocket
