#include "support/graph_draft.h"

#include "hocket/ir/builder.h"

namespace hocket {

GraphDraft GraphDraft::of(const Graph& graph) {
  GraphDraft draft;
  draft.name = graph.name();
  draft.world_size = graph.world_size();
  draft.rank = graph.rank();
  draft.meta.assign(graph.meta().begin(), graph.meta().end());
  draft.groups.assign(graph.groups().begin(), graph.groups().end());
  draft.symbols = graph.symbols();
  draft.pool = graph.pool();
  for (const Storage& storage : graph.storages()) draft.storage_bytes.push_back(storage.bytes);
  for (std::size_t i = 0; i < graph.size(); ++i) {
    const NodeId id(i);
    const Node& node = graph.node(id);
    DraftNode copy;
    copy.name = graph.name(id);
    copy.kind = node.kind;
    if (node.kind == NodeKind::op) copy.op = graph.op_name(id);
    copy.args.assign(graph.args(id).begin(), graph.args(id).end());
    copy.keywords.assign(graph.keywords(id).begin(), graph.keywords(id).end());
    for (const Output& output : graph.outputs(id)) {
      const TypeView type = graph.type(output);
      copy.outputs.push_back({type.dtype,
                              {type.shape.begin(), type.shape.end()},
                              {type.strides.begin(), type.strides.end()},
                              type.offset,
                              std::string(graph.device(output.device)),
                              output.storage.index()});
    }
    copy.multi = node.multi;
    copy.gemm = node.gemm;
    copy.integer = graph.integer(id);
    copy.measured = node.measured;
    copy.view_of = node.view_of;
    copy.wait_of = node.wait_of;
    copy.mutates.assign(graph.mutates(id).begin(), graph.mutates(id).end());
    if (const Collective* collective = graph.collective(id)) copy.collective = *collective;
    copy.extra = graph.extra(id);
    draft.nodes.push_back(std::move(copy));
  }
  return draft;
}

Result<Graph> GraphDraft::build() const {
  GraphBuilder builder(name);
  builder.world(world_size, rank);
  for (const auto& [key, json] : meta) builder.meta(key, json);
  for (const Group& group : groups) builder.tables().group(group);  // unchecked: verify() judges groups
  builder.symbols() = symbols;
  builder.pool() = pool;
  std::vector<bool> sized(storage_bytes.size(), false);
  for (const DraftNode& node : nodes) {
    std::vector<OutputSpec> outputs;
    for (const DraftOutput& output : node.outputs) {
      OutputSpec spec;
      spec.dtype = output.dtype;
      spec.shape = output.shape;
      spec.strides = output.strides;
      spec.offset = output.offset;
      spec.device = output.device;
      spec.storage_key = output.storage;
      if (!sized[output.storage]) spec.storage_bytes = storage_bytes[output.storage];
      sized[output.storage] = true;
      outputs.push_back(std::move(spec));
    }
    NodeSpec spec;
    spec.name = node.name;
    spec.kind = node.kind;
    spec.op = node.op;
    spec.args = node.args;
    spec.keywords = node.keywords;
    spec.outputs = outputs;
    spec.multi = node.multi;
    spec.gemm = node.gemm;
    spec.integer = node.integer;
    spec.measured = node.measured;
    spec.view_of = node.view_of;
    spec.mutates = std::span<const NodeId>(node.mutates);
    spec.wait_of = node.wait_of;
    spec.collective = node.collective;
    spec.extra = node.extra;
    builder.add(spec);
  }
  return builder.finish();
}

std::vector<NodeId> GraphDraft::references(const DraftNode& node) const {
  std::vector<NodeId> nodes_named;
  const auto note = [&](const Arg& value) { nodes_named.push_back(value.as_node()); };
  for (const Arg& arg : node.args) pool.for_each_value(arg, note);
  for (const Keyword& keyword : node.keywords) pool.for_each_value(keyword.value, note);
  return nodes_named;
}

Arg GraphDraft::redirected(const Arg& arg, const Renaming& renaming) {
  if (arg.is(ArgKind::value)) return Arg::value(renaming(arg.as_node()));
  if (!arg.is(ArgKind::list) && !arg.is(ArgKind::dict)) return arg;
  std::vector<Arg> elements(pool.elements(arg).begin(), pool.elements(arg).end());
  for (Arg& element : elements) element = redirected(element, renaming);
  const Range range = pool.add(elements);
  return arg.is(ArgKind::list) ? Arg::list(range) : Arg::dict(range);
}

void GraphDraft::redirect_args(DraftNode& node, const Renaming& renaming) {
  for (Arg& arg : node.args) arg = redirected(arg, renaming);
  for (Keyword& keyword : node.keywords) keyword.value = redirected(keyword.value, renaming);
}

void GraphDraft::redirect(DraftNode& node, const Renaming& renaming) {
  redirect_args(node, renaming);
  if (node.view_of.valid()) node.view_of = renaming(node.view_of);
  if (node.wait_of.valid()) node.wait_of = renaming(node.wait_of);
  for (NodeId& mutated : node.mutates) mutated = renaming(mutated);
}

void GraphDraft::reorder(const std::vector<NodeId>& order) {
  std::vector<NodeId> place(nodes.size());
  std::vector<DraftNode> moved;
  for (std::size_t position = 0; position < order.size(); ++position) {
    place[order[position].index()] = NodeId(position);
    moved.push_back(std::move(nodes[order[position].index()]));
  }
  nodes = std::move(moved);
  for (DraftNode& node : nodes) redirect(node, [&](NodeId old) { return place[old.index()]; });
}

void GraphDraft::erase(NodeId id) {
  nodes.erase(nodes.begin() + static_cast<std::ptrdiff_t>(id.index()));
  const auto shifted = [&](NodeId old) { return old.index() > id.index() ? NodeId(old.index() - 1) : old; };
  for (DraftNode& node : nodes) redirect(node, shifted);
}

}  // namespace hocket
