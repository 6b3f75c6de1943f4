// Builds a Graph node by node. Types, storages, effects and collectives follow from the operator table
// wherever the caller does not say otherwise.
//
//   GraphBuilder b("step");
//   GroupId dp = b.group("dp", {0, 1, 2, 3});
//   NodeId g = b.input("g", Dtype::f32, {1024, 1024});
//   NodeId sum = b.op("_c10d_functional.all_reduce", {g, "sum", dp});
//   b.output({b.op("_c10d_functional.wait_tensor", {sum})});
//   Result<Graph> graph = b.finish();
//
// The first mistake is kept and returned by finish(); calls after it do nothing and return NodeId::none().
#pragma once

#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "hocket/ir/graph.h"

namespace hocket {

// An argument as it is written in a call: a node, a number, a string, a list …
class ArgInit {
 public:
  ArgInit(std::nullopt_t) {}                                                     // NOLINT(google-explicit-constructor)
  ArgInit(NodeId node) : arg_(Arg::value(node)) {}                               // NOLINT
  ArgInit(GroupId group) : arg_(Arg::group(group)) {}                            // NOLINT
  ArgInit(bool value) : arg_(Arg::boolean(value)) {}                             // NOLINT
  ArgInit(int value) : arg_(Arg::integer(value)) {}                              // NOLINT
  ArgInit(std::int64_t value) : arg_(Arg::integer(value)) {}                     // NOLINT
  ArgInit(double value) : arg_(Arg::real(value)) {}                              // NOLINT
  ArgInit(Dtype dtype) : arg_(Arg::dtype(dtype)) {}                              // NOLINT
  ArgInit(Arg arg) : arg_(arg) {}                                                // NOLINT
  ArgInit(const char* text) : text_(text) {}                                     // NOLINT
  ArgInit(std::initializer_list<ArgInit> list) : is_list_(true), list_(list) {}  // NOLINT
  explicit ArgInit(std::vector<ArgInit> list) : is_list_(true), list_(std::move(list)) {}

 private:
  friend class GraphBuilder;
  Arg arg_;
  std::optional<std::string> text_;
  bool is_list_ = false;
  std::vector<ArgInit> list_;
};

// One output as its maker knows it. Absent strides: contiguous. Absent storage: as the operator's row says.
struct OutputSpec {
  Dtype dtype = Dtype::f32;
  std::vector<Dim> shape;
  std::optional<std::vector<Dim>> strides;
  Dim offset = 0;
  std::optional<std::string> device;         // absent: the builder's default device
  std::optional<std::uint64_t> storage_key;  // outputs with equal keys share storage (a number of the caller's)
  std::optional<std::pair<NodeId, std::size_t>> shares;  // storage of that node's output; the node may come later
  std::optional<Dim> storage_bytes;                      // absent: as far as the tensors reach
};

// All that can be said of a node. Absent facts follow from the operator's row.
struct NodeSpec {
  std::string_view name;
  NodeKind kind = NodeKind::op;
  std::string_view op;
  std::span<const Arg> args;
  std::span<const Keyword> keywords;
  std::span<const OutputSpec> outputs;
  bool multi = false;
  bool gemm = false;
  std::optional<std::int64_t> integer;
  Measured measured;
  bool infer = false;  // take the outputs from the row's shape function; `outputs` is then empty
  // Facts of a capture. Those that are absent follow from the operator's row; NodeId::none() says that there is none.
  std::optional<NodeId> view_of;
  std::optional<std::span<const NodeId>> mutates;
  std::optional<NodeId> wait_of;
  std::optional<std::optional<Collective>> collective;
  std::string_view extra;
};

class GraphBuilder {
 public:
  explicit GraphBuilder(std::string name, const OpTable& table = OpTable::builtin());
  GraphBuilder(const GraphBuilder&) = delete;
  GraphBuilder& operator=(const GraphBuilder&) = delete;

  GroupId group(std::string name, std::vector<Rank> ranks);
  GroupId group(std::string name, std::initializer_list<int> ranks);
  void default_device(std::string device);
  void world(std::int64_t size, std::int64_t rank);
  void meta(std::string key, std::string json);

  NodeId input(std::string_view name, Dtype dtype, std::vector<Dim> shape);
  // Adds a call; `op` may leave out ".default". The result's types come from the row's shape function.
  // An empty name makes one from the operator's: mm, mm_1, …
  NodeId op(std::string_view op, std::initializer_list<ArgInit> args, std::string_view name = {},
            std::initializer_list<std::pair<const char*, ArgInit>> keywords = {});
  NodeId op(std::string_view op, const std::vector<ArgInit>& args, std::string_view name,
            const std::vector<std::pair<std::string, ArgInit>>& keywords, std::vector<OutputSpec> outputs = {});
  NodeId getitem(NodeId list, std::int64_t index, std::string_view name = {});
  void output(const std::vector<NodeId>& results);

  // The general form; readers use it. Nodes may refer to nodes that are added later.
  NodeId add(const NodeSpec& node);

  Arg string(std::string_view text) { return Arg::text(ArgKind::string, graph_.pool_.strings.add(text)); }
  Arg text(ArgKind kind, std::string_view text) { return Arg::text(kind, graph_.pool_.strings.add(text)); }
  Arg list(std::span<const Arg> elements) { return Arg::list(graph_.pool_.add(elements)); }
  Arg dict(std::span<const Arg> pairs) { return Arg::dict(graph_.pool_.add(pairs)); }
  StringId key(std::string_view text) { return graph_.pool_.strings.add(text); }
  SymbolTable& symbols() { return graph_.symbols_; }
  ArgPool& pool() { return graph_.pool_; }
  const OpTable& table() const { return *graph_.table_; }
  std::optional<GroupId> find_group(std::string_view name) const { return tables_.find_group(name); }

  TablesBuilder& tables() { return tables_; }
  const std::optional<Error>& error() const { return error_; }  // the first mistake so far
  // The graph so far: nodes already added can be asked for their types.
  const Graph& graph() const { return graph_; }
  void reserve(std::size_t nodes);
  // The device of the first tensor among these arguments.
  std::optional<std::string> device_of(const std::vector<ArgInit>& args) const;
  void set_measured(NodeId id, const Measured& measured) { graph_.nodes_[id.index()].measured = measured; }

  // Numbers storages, derives what was left open, and returns the graph or the first error.
  Result<Graph> finish();

 private:
  // Where an output's storage comes from, until finish() numbers storages.
  struct PendingOutput {
    std::optional<std::uint64_t> storage_key;
    NodeId shares_node;
    std::uint32_t shares_index = 0;
    std::optional<Dim> storage_bytes;
  };
  struct Said {
    bool view_of = false, mutates = false, wait_of = false, collective = false;
  };

  Arg resolve(const ArgInit& init);
  void fail_with(Error error);
  std::string unique_name(std::string_view op);
  Status infer_outputs(const NodeSpec& node, std::vector<OutputSpec>& outputs);
  void resolve_effects();
  void resolve_storages();
  Status check_references() const;

  Graph graph_;
  TablesBuilder tables_;
  std::optional<Error> error_;
  std::string default_device_ = "cpu";
  std::unordered_map<std::string, int> name_counts_;
  std::unordered_set<std::string> used_names_;  // of input() and op(): generated names keep clear of them
  std::vector<PendingOutput> pending_outputs_;  // parallel to graph_.outputs_
  std::vector<Said> said_;                      // parallel to graph_.nodes_: which effects the caller gave
};

// "aten.mm" -> "aten.mm.default"; names that have an overload, or namespaces without overloads, stay.
std::string full_op_name(std::string_view name);
// The other way round; nothing where the short name would be read back as something else.
std::optional<std::string_view> short_op_name(std::string_view full);

}  // namespace hocket
