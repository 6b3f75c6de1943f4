#include "fuse/node_writer.h"

#include "ir/effects.h"

namespace hocket::fuse {

namespace {

Bytes bytes_of(const Graph& graph, NodeId id) {
  Bytes total;
  for (const Output& output : graph.outputs(id)) total += tensor_bytes(graph.type(output));
  return total;
}

}  // namespace

NodeId NodeWriter::op(std::string_view op, const std::vector<ArgInit>& args, std::string_view stem, int member,
                      std::vector<OutputSpec> outputs) {
  const std::string name =
      member < 0 ? fmt::format("{}_{}", prefix_, stem) : fmt::format("{}_{}_{}", prefix_, stem, member);
  const NodeId id = rewriter_.op(op, args, name, {}, std::move(outputs));
  if (id.valid() && cost_ != nullptr) estimate(id);
  return id;
}

// A collective by its bytes; views, getitems and waits take nothing; all the rest here only moves memory.
void NodeWriter::estimate(NodeId id) {
  const Graph& graph = rewriter_.graph();
  const CallEffects effects = effects_by_row(graph, id);
  Nanoseconds time;
  if (effects.collective) {
    const Collective& collective = *effects.collective;
    time = cost_->written_collective(collective.kind, graph.group(collective.group).ranks,
                                     collective.bytes_in + collective.bytes_out);
  } else if (!effects.view_of.valid()) {
    Bytes moved = bytes_of(graph, id);
    for (const NodeId input : graph.inputs(id)) moved += bytes_of(graph, input);
    time = cost_->written_copy(moved);
  }
  rewriter_.set_time(id, time);
}

ArgInit sizes_of(const Graph& graph, NodeId id) {
  std::vector<ArgInit> sizes;
  for (const Dim size : graph.type(graph.outputs(id)[0]).shape) sizes.emplace_back(size.value());
  return ArgInit(std::move(sizes));
}

std::int64_t elements_of(const Graph& graph, NodeId id) {
  std::int64_t elements = 1;
  for (const Dim size : graph.type(graph.outputs(id)[0]).shape) elements *= size.value();
  return elements;
}

}  // namespace hocket::fuse
