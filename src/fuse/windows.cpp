#include "fuse/windows.h"

#include <algorithm>
#include <array>

namespace hocket::fuse {

namespace {

// Operators that only move memory. Captured FSDP and tensor-parallel programs have them around their collectives.
constexpr std::array<std::string_view, 8> moves_memory = {"prims.convert_element_type.default",
                                                          "aten._to_copy.default",
                                                          "aten.clone.default",
                                                          "aten.copy.default",
                                                          "aten.constant_pad_nd.default",
                                                          "aten.cat.default",
                                                          "aten.div.Tensor",
                                                          "aten.split_with_sizes_copy.default"};

bool is_light(const Graph& graph, NodeId id) {
  const OpSpec* spec = graph.op_spec(id);
  if (spec == nullptr || !graph.mutates(id).empty() || graph.collective(id) != nullptr) return false;
  const Effects& effects = spec->effects;
  if (effects.opaque || effects.side_effect || effects.waits || effects.gemm) return false;
  if (graph.node(id).view_of.valid()) return true;
  return std::find(moves_memory.begin(), moves_memory.end(), graph.op_name(id)) != moves_memory.end();
}

}  // namespace

Windows::Windows(const Graph& graph, const OrderConstraints& constraints, const std::vector<NodeId>& waits)
    : graph_(graph),
      constraints_(constraints),
      light_(graph.size()),
      ready_(graph.size(), 0),
      needed_(graph.size(), static_cast<std::uint32_t>(graph.size() - 1)),
      behind_wait_(graph.size(), false) {
  std::vector<bool> may_move(graph.size(), false);
  for (const NodeId wait : waits) may_move[wait.index()] = true;
  for (std::size_t i = 0; i < graph.size(); ++i) light_[i] = is_light(graph, NodeId(i));
  for (std::size_t i = 0; i < graph.size(); ++i) {
    for (const NodeId earlier : constraints.before(NodeId(i))) {
      const std::size_t e = earlier.index();
      ready_[i] = std::max(ready_[i], light_[e] ? ready_[e] : earlier.value);
      if (may_move[e] || (light_[e] && behind_wait_[e])) behind_wait_[i] = true;
    }
  }
  for (std::size_t i = graph.size(); i-- > 0;) {
    for (const NodeId later : constraints.after(NodeId(i))) {
      needed_[i] = std::min(needed_[i], light_[later.index()] ? needed_[later.index()] : later.value);
    }
  }
}

std::uint32_t Windows::ready(NodeId collective) const {
  return behind_wait_[collective.index()] ? collective.value : ready_[collective.index()];
}

std::uint32_t Windows::needed(const CommBlock& block) const {
  const auto is_own = [&](NodeId id) {
    return std::find(block.waits.begin(), block.waits.end(), id) != block.waits.end() ||
           std::find(block.getitems.begin(), block.getitems.end(), id) != block.getitems.end();
  };
  std::uint32_t first = graph_.size() > 0 ? static_cast<std::uint32_t>(graph_.size() - 1) : 0;
  const auto note = [&](NodeId later) {
    if (!is_own(later)) first = std::min(first, light(later) ? needed_[later.index()] : later.value);
  };
  for (const NodeId wait : block.waits) {
    for (const NodeId later : constraints_.after(wait)) note(later);
  }
  for (const NodeId later : constraints_.after(block.collective)) note(later);
  return first;
}

std::vector<NodeId> Windows::light_before(NodeId id, std::uint32_t position) const {
  std::vector<NodeId> found;
  std::vector<NodeId> open = {id};
  while (!open.empty()) {
    const NodeId at = open.back();
    open.pop_back();
    for (const NodeId earlier : constraints_.before(at)) {
      if (!light(earlier) || earlier.value <= position) continue;
      found.push_back(earlier);
      open.push_back(earlier);
    }
  }
  std::sort(found.begin(), found.end());
  found.erase(std::unique(found.begin(), found.end()), found.end());
  return found;
}

}  // namespace hocket::fuse
