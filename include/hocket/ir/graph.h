// A Graph is a program of values: nodes in program order, each an operator applied to the results of others.
// It is immutable and dense: ids are positions, records are small, and all lists live in shared pools.
// GraphBuilder makes one; read_graph() reads one; verify() says what is wrong with one.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "hocket/base/digest.h"
#include "hocket/base/units.h"
#include "hocket/ir/tables.h"

namespace hocket {

enum class NodeKind : std::uint8_t { input, attribute, op, output };  // placeholder, get_attr, op, output in captures

// One tensor that a node results in.
struct Output {
  TypeId type;
  StorageId storage;
  DeviceId device;
  Dim offset = 0;  // in elements
};

// Memory that tensors share. Numbered in the order of first appearance.
struct Storage {
  Dim bytes = 0;
  NodeId allocated_by;  // the first node that results in a tensor of it
};

struct Node {
  StringId name;
  OpId op;  // only for NodeKind::op
  NodeKind kind = NodeKind::op;
  bool multi = false;  // the result is a list that getitem nodes take apart
  bool gemm = false;   // the capture calls it matmul-like
  bool has_integer = false;
  Range inputs;  // distinct nodes that the arguments refer to, in order of first reference
  Range args;
  Range keywords;
  Range outputs;
  Range mutates;   // inputs that it writes
  NodeId view_of;  // the input whose storage its result shares
  NodeId wait_of;  // the collective that a wait completes; none for an input that is in flight already
  std::uint32_t collective = Id<Node>::none_value;  // in the pool of collectives
  std::int64_t integer = 0;
  Measured measured;
};

class Graph : public Tables {
 public:
  std::string_view name() const { return name_; }
  std::size_t size() const { return nodes_.size(); }

  const Node& node(NodeId id) const { return nodes_[id.index()]; }
  std::span<const Node> nodes() const { return nodes_; }
  std::string_view name(NodeId id) const { return pool_.strings[node(id).name]; }
  std::span<const NodeId> inputs(NodeId id) const { return slice(node_lists_, node(id).inputs); }
  std::span<const NodeId> mutates(NodeId id) const { return slice(node_lists_, node(id).mutates); }
  std::span<const Arg> args(NodeId id) const { return pool_.elements(node(id).args); }
  std::span<const Keyword> keywords(NodeId id) const { return pool_.keyword_args(node(id).keywords); }
  std::span<const Output> outputs(NodeId id) const { return slice(outputs_, node(id).outputs); }
  const Collective* collective(NodeId id) const {
    const std::uint32_t index = node(id).collective;
    return index == Id<Node>::none_value ? nullptr : &collectives_[index];
  }
  std::optional<std::int64_t> integer(NodeId id) const {
    return node(id).has_integer ? std::optional(node(id).integer) : std::nullopt;
  }
  std::optional<Nanoseconds> estimate(NodeId id) const {
    const std::int64_t time = node(id).measured.picoseconds;
    return time < 0 ? std::nullopt : std::optional(Nanoseconds::from_picoseconds(time));
  }

  // The operator of a node of kind op: its full name and its row, nullptr where the table has none.
  std::string_view op_name(NodeId id) const { return Tables::op_name(node(id).op); }
  const OpSpec* op_spec(NodeId id) const {
    return node(id).kind == NodeKind::op ? Tables::op_spec(node(id).op) : nullptr;
  }
  using Tables::op_name;
  using Tables::op_spec;

  using Tables::type;
  TypeView type(const Output& output) const;
  std::span<const Storage> storages() const { return storages_; }
  const Storage& storage(StorageId id) const { return storages_[id.index()]; }

  std::int64_t world_size() const { return world_size_; }  // -1 where unknown
  std::int64_t rank() const { return rank_; }
  // Facts about the whole file, key and JSON text, in the order of the file: description, hardware, …
  std::span<const std::pair<std::string, std::string>> meta() const { return meta_; }
  // Members of a node's JSON object that hocket does not know, as JSON text; empty if none.
  std::string_view extra(NodeId id) const;

  std::optional<NodeId> find(std::string_view name) const;  // linear; for many look-ups build a map

  std::size_t memory() const;  // bytes that this graph holds
  Digest digest() const;       // of all that it says

  // The same program, said the same way: names, operators, arguments, types, storages, facts.
  friend bool operator==(const Graph& a, const Graph& b);
  // Where two graphs differ first, in words; empty if they are equal.
  static std::string first_difference(const Graph& a, const Graph& b);

 private:
  friend class GraphBuilder;

  template <class T>
  static std::span<const T> slice(const std::vector<T>& pool, Range range) {
    return std::span(pool).subspan(range.begin, range.count);
  }

  std::string name_;
  std::int64_t world_size_ = -1;
  std::int64_t rank_ = -1;
  std::vector<std::pair<std::string, std::string>> meta_;
  std::vector<Node> nodes_;
  std::vector<NodeId> node_lists_;
  std::vector<Output> outputs_;
  std::vector<Collective> collectives_;
  std::vector<Storage> storages_;
  std::vector<std::pair<NodeId, StringId>> extras_;  // sorted by node
};

// The types and integers of a graph's values, for shape functions.
class GraphValues final : public Call::Values {
 public:
  explicit GraphValues(const Graph& graph) : graph_(graph) {}
  std::size_t output_count(Arg value) const override { return graph_.outputs(value.as_node()).size(); }
  TypeView output(Arg value, std::size_t index) const override {
    return graph_.type(graph_.outputs(value.as_node())[index]);
  }
  std::optional<std::size_t> position(Arg value, std::size_t index) const override;
  std::optional<std::int64_t> integer(Arg value) const override { return graph_.integer(value.as_node()); }
  std::int64_t group_size(GroupId group) const override {
    return static_cast<std::int64_t>(graph_.group(group).ranks.size());
  }
  std::size_t group_count() const override { return graph_.groups().size(); }

 private:
  const Graph& graph_;
};

}  // namespace hocket
