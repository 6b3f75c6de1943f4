#include "ir/node_facts.h"

#include <algorithm>

namespace hocket {

bool is_op(const Graph& graph, NodeId id, std::string_view name) {
  return graph.node(id).kind == NodeKind::op && graph.op_name(id) == name;
}

std::vector<std::int64_t> dense_strides(Dims shape) {
  std::vector<std::int64_t> strides(shape.size(), 1);
  for (std::size_t d = strides.size(); d-- > 1;) strides[d - 1] = strides[d] * shape[d].value();
  return strides;
}

bool has_strides(const TypeView& type, const std::vector<std::int64_t>& strides) {
  for (std::size_t d = 0; d < strides.size(); ++d) {
    if (type.shape[d].value() > 1 && type.strides[d].value() != strides[d]) return false;
  }
  return true;
}

bool is_contiguous(const TypeView& type) {
  return all_static(type.shape) && all_static(type.strides) && has_strides(type, dense_strides(type.shape));
}

bool same_type(const TypeView& a, const TypeView& b) {
  return a.dtype == b.dtype && std::ranges::equal(a.shape, b.shape) && std::ranges::equal(a.strides, b.strides);
}

bool are_equal_sizes(const Graph& graph, const Arg& list) {
  const auto sizes = graph.pool().elements(list);
  return std::ranges::all_of(
      sizes, [&](const Arg& size) { return size.is(ArgKind::integer) && size.as_integer() == sizes[0].as_integer(); });
}

std::vector<NodeId> last_writes(const Graph& graph) {
  std::vector<NodeId> last(graph.storages().size(), NodeId::none());
  for (std::size_t i = 0; i < graph.size(); ++i) {
    for (const NodeId mutated : graph.mutates(NodeId(i))) {
      for (const Output& output : graph.outputs(mutated)) last[output.storage.index()] = NodeId(i);
    }
  }
  return last;
}

bool written_between(const Graph& graph, NodeId value, NodeId first, NodeId last) {
  const StorageId storage = graph.outputs(value)[0].storage;
  for (std::size_t i = first.index() + 1; i < last.index(); ++i) {
    for (const NodeId mutated : graph.mutates(NodeId(i))) {
      for (const Output& output : graph.outputs(mutated)) {
        if (output.storage == storage) return true;
      }
    }
  }
  return false;
}

std::vector<NodeId> first_waits(const Graph& graph) {
  std::vector<NodeId> waits(graph.size());
  for (std::size_t i = graph.size(); i-- > 0;) {
    const NodeId collective = graph.node(NodeId(i)).wait_of;
    if (collective.valid()) waits[collective.index()] = NodeId(i);
  }
  return waits;
}

bool is_in_flight(const Graph& graph, const std::vector<NodeId>& waits, NodeId id, NodeId at) {
  if (id >= at || graph.collective(id) == nullptr || is_blocking(graph.op_spec(id))) return false;
  const NodeId wait = waits[id.index()];
  return !wait.valid() || wait > at;
}

}  // namespace hocket
