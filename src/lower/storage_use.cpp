#include "lower/storage_use.h"

#include <algorithm>

namespace hocket {

StorageUse::StorageUse(const Graph& graph)
    : graph_(graph),
      last_use_(graph.storages().size()),
      written_(graph.storages().size(), false),
      made_by_(graph.storages().size(), NodeKind::op),
      used_(graph.size(), false),
      returned_(graph.size(), false),
      known_(graph.size(), false) {
  for (std::size_t i = 0; i < graph.size(); ++i) note_node(NodeId(i));
}

void StorageUse::note_node(NodeId id) {
  const Node& node = graph_.node(id);
  for (const Output& output : graph_.outputs(id)) {
    const bool is_first = !last_use_[output.storage.index()].valid();
    // An attribute that lies in an input's memory is the caller's, whichever comes first.
    if (is_first || node.kind == NodeKind::input) made_by_[output.storage.index()] = node.kind;
    last_use_[output.storage.index()] = id;
  }
  for (const NodeId input : graph_.inputs(id)) {
    used_[input.index()] = true;
    if (node.kind == NodeKind::output) returned_[input.index()] = true;
    for (const Output& output : graph_.outputs(input)) last_use_[output.storage.index()] = id;
  }
  for (const NodeId mutated : graph_.mutates(id)) {
    for (const Output& output : graph_.outputs(mutated)) written_[output.storage.index()] = true;
  }
  known_[id.index()] = follows_from_sizes(id);
}

bool StorageUse::follows_from_sizes(NodeId id) const {
  const OpSpec* spec = graph_.op_spec(id);
  if (spec == nullptr || graph_.node(id).outputs.count > 0) return false;
  const Effects& effects = spec->effects;
  if (effects.side_effect || effects.opaque || effects.comm || effects.waits || effects.mutates != 0) return false;
  const auto inputs = graph_.inputs(id);
  return std::all_of(inputs.begin(), inputs.end(), [&](NodeId input) {
    const auto outputs = graph_.outputs(input);
    if (outputs.empty()) return static_cast<bool>(known_[input.index()]);
    return spec->metadata_only && std::all_of(outputs.begin(), outputs.end(), [&](const Output& output) {
             const TypeView type = graph_.type(output);
             return all_static(type.shape) && all_static(type.strides) && type.offset.is_static();
           });
  });
}

}  // namespace hocket
