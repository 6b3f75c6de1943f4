#include "fsdp/comm_groups.h"

#include <algorithm>
#include <array>
#include <set>
#include <span>

namespace hocket::fsdp {

namespace {

constexpr std::array<std::string_view, 1> gathers_from = {"fsdp.all_gather_copy_in.default"};
constexpr std::array<std::string_view, 2> scatters_from = {"fsdp.chunk_cat.default", "aten.cat.default"};
constexpr std::array<std::string_view, 3> copies_out = {
    "fsdp.split_with_sizes_copy.default", "aten.split_with_sizes_copy.out", "aten.split_with_sizes_copy.default"};
constexpr std::array<std::string_view, 6> moves_memory = {
    "prims.convert_element_type.default", "aten._to_copy.default",    "aten.clone.default",
    "aten.constant_pad_nd.default",       "aten.empty.memory_format", "aten.new_empty.default"};

template <std::size_t count>
bool is_one_of(const Graph& graph, NodeId id, const std::array<std::string_view, count>& ops) {
  return graph.node(id).kind == NodeKind::op && std::find(ops.begin(), ops.end(), graph.op_name(id)) != ops.end();
}

bool is_plain_view(const Graph& graph, NodeId id) {
  const OpSpec* spec = graph.op_spec(id);
  return spec != nullptr && graph.node(id).view_of.valid() && graph.mutates(id).empty() && !spec->effects.waits &&
         !spec->effects.comm && !spec->effects.opaque && !spec->effects.side_effect;
}

bool gathers(const Graph& graph, NodeId collective) {
  return graph.collective(collective)->kind == CollectiveKind::all_gather;
}

bool is_copy_in(const Graph& graph, NodeId id, bool for_gather) {
  return for_gather ? is_one_of(graph, id, gathers_from) : is_one_of(graph, id, scatters_from);
}

bool all_in(std::span<const NodeId> nodes, const std::set<NodeId>& group) {
  return std::all_of(nodes.begin(), nodes.end(), [&](NodeId id) { return group.contains(id); });
}

// Backwards from the collective: a node joins if everything that has to come after it is in the group already. So nothing that stands
// outside comes between two of the group, and the group can be one.
std::vector<NodeId> start_group(const Graph& graph, const OrderConstraints& constraints, NodeId collective) {
  std::set<NodeId> group = {collective};
  std::set<NodeId> open(constraints.before(collective).begin(), constraints.before(collective).end());
  while (!open.empty()) {
    const NodeId id = *open.rbegin();
    open.erase(id);
    const bool fits = is_plain_view(graph, id) || is_one_of(graph, id, moves_memory) ||
                      is_copy_in(graph, id, gathers(graph, collective));
    if (!fits || !all_in(constraints.after(id), group)) continue;
    group.insert(id);
    open.insert(constraints.before(id).begin(), constraints.before(id).end());
  }
  return {group.begin(), group.end()};
}

// Is it there whether or not the wait is done? Arguments stand before their users, so what only needs nodes before the wait does not
// need the wait: the tensors that a copy-out writes to are made like that.
bool needs_only(const OrderConstraints& constraints, NodeId id, NodeId wait) {
  const auto before = constraints.before(id);
  return id < wait || std::all_of(before.begin(), before.end(), [&](NodeId from) { return from < wait; });
}

// Forwards from the wait: a view or a copy-out joins if it comes after nothing but the group and what is there without the wait.
std::vector<NodeId> finish_group(const Graph& graph, const OrderConstraints& constraints, NodeId wait) {
  std::set<NodeId> group = {wait};
  std::set<NodeId> open(constraints.after(wait).begin(), constraints.after(wait).end());
  while (!open.empty()) {
    const NodeId id = *open.begin();
    open.erase(id);
    if (!is_plain_view(graph, id) && !is_one_of(graph, id, copies_out)) continue;
    const auto before = constraints.before(id);
    const bool follows_alone = std::all_of(before.begin(), before.end(), [&](NodeId from) {
      return group.contains(from) || needs_only(constraints, from, wait);
    });
    if (!follows_alone) continue;
    group.insert(id);
    if (is_plain_view(graph, id)) open.insert(constraints.after(id).begin(), constraints.after(id).end());
  }
  return {group.begin(), group.end()};
}

}  // namespace

Result<CommGroups> comm_groups(const Graph& graph, const OrderConstraints& constraints, NodeId collective) {
  CommGroups groups;
  groups.collective = collective;
  groups.start = start_group(graph, constraints, collective);
  const bool has_copy_in = std::any_of(groups.start.begin(), groups.start.end(),
                                       [&](NodeId id) { return is_copy_in(graph, id, gathers(graph, collective)); });
  if (!has_copy_in)
    return fail(ErrorKind::input, "no {} leads to it alone", gathers(graph, collective) ? "copy-in" : "concat");
  NodeId wait;
  for (const NodeId later : constraints.after(collective)) {
    if (graph.node(later).wait_of != collective) continue;
    if (wait.valid()) return fail(ErrorKind::input, "it has more than one wait");
    wait = later;
  }
  if (!wait.valid()) return fail(ErrorKind::input, "it has no wait");
  groups.finish = finish_group(graph, constraints, wait);
  return groups;
}

}  // namespace hocket::fsdp
