#include "ir/effects.h"

#include <algorithm>

#include "ir/node_facts.h"

namespace hocket {

namespace {

// The nodes that an argument refers to, in order; an argument is a value or a list of values.
std::vector<NodeId> values_in(const Graph& graph, const Arg& arg) {
  std::vector<NodeId> nodes;
  graph.pool().for_each_value(arg, [&](const Arg& value) { nodes.push_back(value.as_node()); });
  return nodes;
}

const Arg* out_keyword(const Graph& graph, NodeId id) {
  for (const Keyword& keyword : graph.keywords(id)) {
    if (graph.pool().strings[keyword.key] == "out") return &keyword.value;
  }
  return nullptr;
}

Bytes bytes_of(const Graph& graph, NodeId id) {
  Bytes total;
  for (const Output& output : graph.outputs(id)) total += tensor_bytes(graph.type(output));
  return total;
}

bool known(const Graph& graph, NodeId id) { return id.valid() && id.index() < graph.size(); }

NodeId first_value(const Graph& graph, NodeId id) {
  if (graph.args(id).empty()) return NodeId::none();
  const auto values = values_in(graph, graph.args(id)[0]);
  return values.empty() ? NodeId::none() : values[0];
}

bool arguments_known(const Graph& graph, NodeId id) {
  const auto inputs = graph.inputs(id);
  return std::all_of(inputs.begin(), inputs.end(), [&](NodeId input) { return known(graph, input); });
}

// The argument that the row says the result aliases; of a list its first element.
NodeId aliased(const Graph& graph, NodeId id, const Effects& effects) {
  if (effects.alias_arg >= graph.args(id).size()) return NodeId::none();
  const auto values = values_in(graph, graph.args(id)[effects.alias_arg]);
  return values.empty() ? NodeId::none() : values[0];
}

// reshape and its like give a view where the layout allows it, and a copy where it doesn't: the shape function knows.
// Without an answer of it, a view of what is dense is a good guess.
NodeId view_unless_copied(const Graph& graph, NodeId id, const OpSpec& spec) {
  const NodeId source = aliased(graph, id, spec.effects);
  if (!known(graph, source) || graph.outputs(source).size() != 1 || graph.outputs(id).size() != 1)
    return NodeId::none();
  SymbolTable symbols = graph.symbols();
  if (spec.shape != nullptr && arguments_known(graph, id)) {
    const GraphValues values(graph);
    const auto inferred = spec.shape(Call(graph.pool(), graph.args(id), graph.keywords(id), values, symbols));
    if (inferred && inferred->size() == 1) return inferred->front().copied ? NodeId::none() : source;
  }
  const TypeView from = graph.type(graph.outputs(source)[0]);
  const TypeView to = graph.type(graph.outputs(id)[0]);
  return from.dtype == to.dtype && is_contiguous(from, symbols) ? source : NodeId::none();
}

NodeId view_by_row(const Graph& graph, NodeId id, const OpSpec& spec) {
  switch (spec.effects.alias) {
    case Alias::fresh: return NodeId::none();
    case Alias::first: return graph.outputs(id).empty() ? NodeId::none() : aliased(graph, id, spec.effects);
    case Alias::either: return view_unless_copied(graph, id, spec);
    case Alias::out: {
      const Arg* out = out_keyword(graph, id);
      return out != nullptr && out->is(ArgKind::value) && !graph.outputs(id).empty() ? out->as_node() : NodeId::none();
    }
  }
  return NodeId::none();
}

void append_distinct(std::vector<NodeId>& list, const std::vector<NodeId>& more) {
  for (const NodeId node : more) {
    if (std::find(list.begin(), list.end(), node) == list.end()) list.push_back(node);
  }
}

std::vector<NodeId> mutated_by_row(const Graph& graph, NodeId id, const Effects& effects) {
  std::vector<NodeId> mutated;
  const auto args = graph.args(id);
  for (std::size_t i = 0; i < args.size() && i < 32; ++i) {
    if ((effects.mutates >> i & 1U) != 0) append_distinct(mutated, values_in(graph, args[i]));
  }
  if (effects.mutates_out) {
    if (const Arg* out = out_keyword(graph, id)) append_distinct(mutated, values_in(graph, *out));
  }
  return mutated;
}

std::optional<Collective> collective_by_row(const Graph& graph, NodeId id, const CommSpec& comm) {
  const auto args = graph.args(id);
  const auto position = static_cast<std::size_t>(comm.group_arg);
  if (comm.group_arg < 0 || position >= args.size() || !args[position].is(ArgKind::group)) return std::nullopt;
  Collective collective{comm.kind, args[position].as_group(), Bytes(), bytes_of(graph, id)};
  const Arg* out = out_keyword(graph, id);
  for (const NodeId input : graph.inputs(id)) {
    const bool is_out = out != nullptr && out->is(ArgKind::value) && out->as_node() == input;
    if (!is_out && known(graph, input)) collective.bytes_in += bytes_of(graph, input);
  }
  return collective;
}

}  // namespace

CallEffects effects_by_row(const Graph& graph, NodeId id) {
  const OpSpec* spec = graph.op_spec(id);
  if (spec == nullptr) return {};
  CallEffects result;
  result.view_of = view_by_row(graph, id, *spec);
  result.mutates = mutated_by_row(graph, id, spec->effects);
  if (spec->effects.comm) result.collective = collective_by_row(graph, id, *spec->effects.comm);
  return result;
}

NodeId awaited_by(const Graph& graph, NodeId id) {
  NodeId at = first_value(graph, id);
  for (std::size_t steps = 0; known(graph, at) && steps <= graph.size(); ++steps) {
    if (graph.collective(at) != nullptr) return at;
    at = graph.node(at).view_of;
  }
  return NodeId::none();
}

OutputRef shared_output(const Graph& graph, NodeId id, std::size_t index) {
  const NodeId source = graph.node(id).view_of;
  const auto args = graph.args(id);
  if (!known(graph, source)) return {};
  const std::size_t count = graph.outputs(source).size();
  if (is_getitem(graph, id) && args.size() == 2 && args[1].is(ArgKind::integer)) {
    const std::int64_t element = args[1].as_integer();
    const auto position =
        element < 0 ? std::nullopt : GraphValues(graph).position(Arg::value(source), static_cast<std::size_t>(element));
    if (position) return {source, *position};
    return count == 0 ? OutputRef{} : OutputRef{source, 0};
  }
  // An in-place operator on a list gives back the list.
  const OpSpec* spec = graph.op_spec(id);
  const std::size_t position = spec == nullptr ? 0 : spec->effects.alias_arg;
  if (position < args.size() && args[position].is(ArgKind::list) && index < args[position].as_range().count) {
    const Arg element = graph.pool().elements(args[position])[index];
    if (element.is(ArgKind::value) && known(graph, element.as_node()) && !graph.outputs(element.as_node()).empty()) {
      return {element.as_node(), 0};
    }
  }
  return count == 0 ? OutputRef{} : OutputRef{source, 0};
}

Dim farther_reach(Dim so_far, const TypeView& type, SymbolTable& symbols) {
  const auto extent = extent_bytes(type, symbols);
  const bool farther = extent && (!extent->is_static() || (so_far.is_static() && extent->value() > so_far.value()));
  return farther ? *extent : so_far;
}

bool is_contiguous(const TypeView& type, SymbolTable& symbols) {
  const auto dense = contiguous_strides(type.shape, symbols);
  if (!dense) return false;
  for (std::size_t i = 0; i < type.shape.size(); ++i) {
    if (type.shape[i] != Dim(1) && type.strides[i] != dense->dims[i]) return false;
  }
  return true;
}

}  // namespace hocket
