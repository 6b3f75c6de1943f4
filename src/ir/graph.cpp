#include "hocket/ir/graph.h"

#include <fmt/format.h>

#include <algorithm>

namespace hocket {

TypeView Graph::type(const Output& output) const {
  TypeView view = type(output.type);
  view.offset = output.offset;
  return view;
}

std::string_view Graph::extra(NodeId id) const {
  const auto found = std::lower_bound(extras_.begin(), extras_.end(), id,
                                      [](const auto& entry, NodeId key) { return entry.first < key; });
  return found != extras_.end() && found->first == id ? pool_.strings[found->second] : std::string_view();
}

std::optional<NodeId> Graph::find(std::string_view name) const {
  const StringId text = pool_.strings.find(name);
  if (!text.valid()) return std::nullopt;
  const auto found = std::find_if(nodes_.begin(), nodes_.end(), [&](const Node& node) { return node.name == text; });
  if (found == nodes_.end()) return std::nullopt;
  return NodeId(static_cast<std::size_t>(found - nodes_.begin()));
}

std::size_t Graph::memory() const {
  const auto held = [](const auto& vector) { return vector.capacity() * sizeof(vector[0]); };
  return sizeof(Graph) + held(nodes_) + held(node_lists_) + held(outputs_) + held(collectives_) + held(storages_) +
         held(extras_) + tables_memory();
}

namespace {

// Walks everything that a graph says, in one fixed order. Equality and digest are both defined by this walk,
// so that neither can forget a field that the other knows.
class Walk {
 public:
  virtual ~Walk() = default;
  virtual void number(std::int64_t value) = 0;
  virtual void text(std::string_view value) = 0;

  void dims(const Graph& graph, Dims list) {
    number(static_cast<std::int64_t>(list.size()));
    for (const Dim dim : list) this->dim(graph, dim);
  }
  void dim(const Graph& graph, Dim dim) {
    if (dim.is_static()) number(dim.value());
    else text(graph.symbols().to_string(dim));
  }
  void id(std::uint32_t value) { number(value); }

  void arg(const Graph& graph, const Arg& arg) {
    number(static_cast<std::int64_t>(arg.kind()));
    switch (arg.kind()) {
      case ArgKind::none: break;
      case ArgKind::boolean: number(arg.as_bool() ? 1 : 0); break;
      case ArgKind::integer: number(arg.as_integer()); break;
      case ArgKind::real: number(std::bit_cast<std::int64_t>(arg.as_real())); break;
      case ArgKind::symbolic: dim(graph, arg.as_symbolic()); break;
      case ArgKind::value: id(arg.as_node().value); break;
      case ArgKind::group: id(arg.as_group().value); break;
      case ArgKind::dtype: number(static_cast<std::int64_t>(arg.as_dtype())); break;
      case ArgKind::string:
      case ArgKind::device:
      case ArgKind::layout:
      case ArgKind::memory_format:
      case ArgKind::json: text(graph.pool().text(arg)); break;
      case ArgKind::list:
      case ArgKind::dict:
        number(arg.as_range().count);
        for (const Arg& element : graph.pool().elements(arg)) this->arg(graph, element);
        break;
    }
  }

  void header(const Graph& graph) {
    text(graph.name());
    number(graph.world_size());
    number(graph.rank());
    number(static_cast<std::int64_t>(graph.meta().size()));
    for (const auto& [key, json] : graph.meta()) {
      text(key);
      text(json);
    }
    number(static_cast<std::int64_t>(graph.groups().size()));
    for (const Group& group : graph.groups()) {
      text(group.name);
      number(static_cast<std::int64_t>(group.ranks.size()));
      for (const Rank rank : group.ranks) number(rank.value);
    }
    number(static_cast<std::int64_t>(graph.size()));
  }

  void node(const Graph& graph, NodeId id) {
    const Node& node = graph.node(id);
    text(graph.name(id));
    number(static_cast<std::int64_t>(node.kind));
    if (node.kind == NodeKind::op) text(graph.op_name(id));
    number((node.multi ? 1 : 0) + (node.gemm ? 2 : 0) + (node.has_integer ? 4 : 0));
    number(node.integer);
    number(static_cast<std::int64_t>(graph.args(id).size()));
    for (const Arg& arg : graph.args(id)) this->arg(graph, arg);
    number(static_cast<std::int64_t>(graph.keywords(id).size()));
    for (const Keyword& keyword : graph.keywords(id)) {
      text(graph.pool().strings[keyword.key]);
      arg(graph, keyword.value);
    }
    number(static_cast<std::int64_t>(graph.outputs(id).size()));
    for (const Output& out : graph.outputs(id)) output(graph, out);
    this->id(node.view_of.value);
    this->id(node.wait_of.value);
    number(static_cast<std::int64_t>(graph.mutates(id).size()));
    for (const NodeId mutated : graph.mutates(id)) this->id(mutated.value);
    if (const Collective* c = graph.collective(id)) {
      number(static_cast<std::int64_t>(c->kind));
      this->id(c->group.value);
      number(c->bytes_in.count);
      number(c->bytes_out.count);
    } else {
      number(-1);
    }
    for (const std::int64_t fact :
         {node.measured.picoseconds, node.measured.flops, node.measured.read, node.measured.written})
      number(fact);
    text(graph.extra(id));
  }

  void storages(const Graph& graph) {
    number(static_cast<std::int64_t>(graph.storages().size()));
    for (const Storage& storage : graph.storages()) {
      dim(graph, storage.bytes);
      id(storage.allocated_by.value);
    }
  }

 private:
  void output(const Graph& graph, const Output& output) {
    const TypeView type = graph.type(output);
    number(static_cast<std::int64_t>(type.dtype));
    dims(graph, type.shape);
    dims(graph, type.strides);
    dim(graph, type.offset);
    text(graph.device(output.device));
    id(output.storage.value);
  }
};

class DigestWalk final : public Walk {
 public:
  void number(std::int64_t value) override { digester.add(value); }
  void text(std::string_view value) override { digester.add(value); }
  Digester digester;
};

// Writes what the walk meets into a string; equal strings, equal graphs.
class RecordWalk final : public Walk {
 public:
  void number(std::int64_t value) override { record.append(reinterpret_cast<const char*>(&value), sizeof value); }
  void text(std::string_view value) override {
    number(static_cast<std::int64_t>(value.size()));
    record.append(value);
  }
  std::string record;
};

template <class Part>
bool differ(const Graph& a, const Graph& b, Part part) {
  RecordWalk walk_a;
  RecordWalk walk_b;
  part(walk_a, a);
  part(walk_b, b);
  return walk_a.record != walk_b.record;
}

}  // namespace

Digest Graph::digest() const {
  DigestWalk walk;
  walk.header(*this);
  for (std::size_t i = 0; i < size(); ++i) walk.node(*this, NodeId(i));
  walk.storages(*this);
  return walk.digester.finish();
}

std::string Graph::first_difference(const Graph& a, const Graph& b) {
  if (a.size() != b.size()) return fmt::format("{} nodes against {}", a.size(), b.size());
  if (differ(a, b, [](Walk& walk, const Graph& graph) { walk.header(graph); }))
    return "name, world, groups or other facts of the whole";
  for (std::size_t i = 0; i < a.size(); ++i) {
    const NodeId id(i);
    if (differ(a, b, [&](Walk& walk, const Graph& graph) { walk.node(graph, id); })) {
      return fmt::format("node {} ({}) against ({})", i, a.name(id), b.name(id));
    }
  }
  if (differ(a, b, [](Walk& walk, const Graph& graph) { walk.storages(graph); })) return "the storages";
  return {};
}

bool operator==(const Graph& a, const Graph& b) { return Graph::first_difference(a, b).empty(); }

std::optional<std::size_t> GraphValues::position(Arg value, std::size_t index) const {
  const NodeId node = value.as_node();
  const OpSpec* spec = graph_.op_spec(node);
  const auto found =
      spec == nullptr ? std::optional(index) : output_position(*spec, graph_.pool(), graph_.args(node), index);
  return found && *found < graph_.outputs(node).size() ? found : std::nullopt;
}

}  // namespace hocket
