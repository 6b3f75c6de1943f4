// Groups, collectives and waits made wrong.
#include <algorithm>

#include "support/graph_defects.h"

namespace hocket {

namespace {

// A collective whose communication the row describes.
bool is_collective(const Graph& graph, NodeId id) {
  const OpSpec* spec = graph.op_spec(id);
  return graph.collective(id) != nullptr && spec != nullptr && spec->effects.comm && spec->effects.comm->group_arg >= 0;
}

NodeId pick_collective(const Graph& graph, Random& random) {
  return pick_node(graph, random, [&](NodeId id) { return is_collective(graph, id); });
}

std::vector<NodeId> waits_for(const Graph& graph, NodeId collective) {
  std::vector<NodeId> waits;
  for (std::size_t i = 0; i < graph.size(); ++i) {
    if (graph.node(NodeId(i)).wait_of == collective) waits.emplace_back(i);
  }
  return waits;
}

// The first wait for some collective: between the two, data is in flight.
NodeId pick_first_wait(const Graph& graph, Random& random) {
  const NodeId wait = pick_node(graph, random, [&](NodeId id) { return graph.node(id).wait_of.valid(); });
  return wait.valid() ? waits_for(graph, graph.node(wait).wait_of)[0] : wait;
}

// ---- waits

bool drop_wait(GraphDraft& draft, const Graph& graph, Random& random) {
  const NodeId wait = pick_first_wait(graph, random);
  if (!wait.valid() || waits_for(graph, graph.node(wait).wait_of).size() != 1) return false;
  const NodeId awaited = graph.inputs(wait)[0];
  for (DraftNode& node : draft.nodes) draft.redirect(node, [&](NodeId old) { return old == wait ? awaited : old; });
  draft.erase(wait);
  return true;
}

bool use_before_wait(GraphDraft& draft, const Graph& graph, Random& random) {
  const NodeId wait = pick_first_wait(graph, random);
  if (!wait.valid()) return false;
  insert_node(draft, wait, clone_of(draft, graph.inputs(wait)[0], "early use"));
  return true;
}

bool wait_for_nothing(GraphDraft& draft, const Graph& graph, Random& random) {
  const NodeId wait = pick_first_wait(graph, random);
  if (!wait.valid()) return false;
  draft.nodes[wait.index()].wait_of = NodeId::none();
  return true;
}

bool wait_for_other_collective(GraphDraft& draft, const Graph& graph, Random& random) {
  const NodeId wait = pick_first_wait(graph, random);
  if (!wait.valid()) return false;
  const auto own = graph.outputs(wait);
  const NodeId other = pick_node(graph, random, [&](NodeId id) {
    const auto results = graph.outputs(id);
    return id < wait && is_collective(graph, id) &&
           std::none_of(results.begin(), results.end(),
                        [&](const Output& one) { return one.storage == own[0].storage; });
  });
  if (!other.valid()) return false;
  draft.nodes[wait.index()].wait_of = other;
  return true;
}

bool wait_for_no_collective(GraphDraft& draft, const Graph& graph, Random& random) {
  const NodeId wait = pick_first_wait(graph, random);
  const NodeId other = pick_node(graph, random, [&](NodeId id) { return graph.collective(id) == nullptr; });
  if (!wait.valid() || !other.valid()) return false;
  draft.nodes[wait.index()].wait_of = other;
  return true;
}

bool operator_that_waits(GraphDraft& draft, const Graph& graph, Random& random) {
  const NodeId collective = pick_collective(graph, random);
  const NodeId id = pick_node(graph, random, [&](NodeId one) {
    return is_op(graph, one) && (graph.op_spec(one) == nullptr || !graph.op_spec(one)->effects.waits);
  });
  if (!collective.valid() || !id.valid()) return false;
  draft.nodes[id.index()].wait_of = collective;
  return true;
}

bool wait_before_start(GraphDraft& draft, const Graph& graph, Random& random) {
  const NodeId wait = pick_first_wait(graph, random);
  if (!wait.valid()) return false;
  move_node(draft, wait, graph.node(wait).wait_of);
  return true;
}

// relu_ of what a collective reads, while it is in flight.
bool write_in_flight(GraphDraft& draft, const Graph& graph, Random& random) {
  const NodeId wait = pick_first_wait(graph, random);
  if (!wait.valid()) return false;
  std::vector<NodeId> readable;
  for (const NodeId input : graph.inputs(graph.node(wait).wait_of)) {
    if (graph.outputs(input).size() == 1 && !graph.node(input).multi) readable.push_back(input);
  }
  if (readable.empty()) return false;
  const NodeId target = random.pick(readable);
  DraftNode node;
  node.name = "early write";
  node.op = "aten.relu_.default";
  node.args = {Arg::value(target)};
  node.outputs = draft.nodes[target.index()].outputs;
  node.view_of = target;
  node.mutates = {target};
  insert_node(draft, wait, std::move(node));
  return true;
}

// ---- what is said about a collective

bool wrong_kind(GraphDraft& draft, const Graph& graph, Random& random) {
  const NodeId id = pick_collective(graph, random);
  if (!id.valid()) return false;
  CollectiveKind& kind = draft.nodes[id.index()].collective->kind;
  kind = kind == CollectiveKind::broadcast ? CollectiveKind::p2p : CollectiveKind::broadcast;
  return true;
}

bool wrong_group(GraphDraft& draft, const Graph& graph, Random& random) {
  const NodeId id = pick_collective(graph, random);
  if (!id.valid()) return false;
  Group twin = graph.group(graph.collective(id)->group);
  twin.name = "twin of " + twin.name;
  draft.groups.push_back(std::move(twin));
  draft.nodes[id.index()].collective->group = GroupId(draft.groups.size() - 1);
  return true;
}

bool wrong_bytes(GraphDraft& draft, const Graph& graph, Random& random) {
  const NodeId id = pick_collective(graph, random);
  if (!id.valid()) return false;
  Collective& collective = *draft.nodes[id.index()].collective;
  (random.chance(50) ? collective.bytes_in : collective.bytes_out) += Bytes(random.between(1, 100));
  return true;
}

bool hide_collective(GraphDraft& draft, const Graph& graph, Random& random) {
  const NodeId id = pick_collective(graph, random);
  if (!id.valid()) return false;
  draft.nodes[id.index()].collective.reset();
  return true;
}

bool claim_collective(GraphDraft& draft, const Graph& graph, Random& random) {
  const NodeId id = pick_node(
      graph, random, [&](NodeId one) { return graph.op_spec(one) != nullptr && !graph.op_spec(one)->effects.comm; });
  if (!id.valid() || graph.groups().empty()) return false;
  draft.nodes[id.index()].collective = Collective{CollectiveKind::all_reduce, GroupId(0), Bytes(1), Bytes(1)};
  return true;
}

bool wrong_group_size(GraphDraft& draft, const Graph& graph, Random& random) {
  const NodeId id = pick_node(graph, random, [&](NodeId one) {
    return is_collective(graph, one) && graph.op_spec(one)->effects.comm->group_size_arg >= 0;
  });
  if (!id.valid()) return false;
  Arg& size = draft.nodes[id.index()].args[static_cast<std::size_t>(graph.op_spec(id)->effects.comm->group_size_arg)];
  size = Arg::integer(size.as_integer() + 1);
  return true;
}

bool no_group(GraphDraft& draft, const Graph& graph, Random& random) {
  const NodeId id = pick_collective(graph, random);
  if (!id.valid()) return false;
  draft.nodes[id.index()].args[static_cast<std::size_t>(graph.op_spec(id)->effects.comm->group_arg)] = Arg::integer(0);
  return true;
}

// ---- groups

Group* pick_group(GraphDraft& draft, Random& random) {
  return draft.groups.empty() ? nullptr : &draft.groups[random.index(draft.groups.size())];
}

bool empty_group(GraphDraft& draft, const Graph&, Random& random) {
  Group* group = pick_group(draft, random);
  if (group == nullptr) return false;
  group->ranks.clear();
  return true;
}

bool rank_twice(GraphDraft& draft, const Graph&, Random& random) {
  Group* group = pick_group(draft, random);
  if (group == nullptr || group->ranks.empty()) return false;
  group->ranks.push_back(random.pick(group->ranks));
  return true;
}

bool rank_outside(GraphDraft& draft, const Graph& graph, Random& random) {
  Group* group = pick_group(draft, random);
  if (group == nullptr || graph.world_size() < 0) return false;
  group->ranks.push_back(Rank{static_cast<std::int32_t>(graph.world_size())});
  return true;
}

bool groups_of_one_name(GraphDraft& draft, const Graph&, Random& random) {
  const Group* group = pick_group(draft, random);
  if (group == nullptr) return false;
  draft.groups.push_back(*group);
  return true;
}

bool not_a_member(GraphDraft& draft, const Graph& graph, Random& random) {
  const NodeId id = pick_collective(graph, random);
  if (!id.valid() || graph.rank() < 0) return false;
  auto& ranks = draft.groups[graph.collective(id)->group.index()].ranks;
  std::erase_if(ranks, [&](Rank rank) { return rank.value == graph.rank(); });
  return true;
}

}  // namespace

std::vector<GraphDefect> communication_defects() {
  using enum ProblemKind;
  return {
      {"drop a wait", {wait}, drop_wait},
      {"use a result before its wait", {wait}, use_before_wait},
      {"wait without saying for what", {wait}, wait_for_nothing},
      {"wait for another collective", {wait}, wait_for_other_collective},
      {"wait for no collective", {wait}, wait_for_no_collective},
      {"let another operator wait", {wait}, operator_that_waits},
      {"wait before the start", {order}, wait_before_start},
      {"write what is read in flight", {mutation}, write_in_flight},
      {"say another kind", {collective}, wrong_kind},
      {"say another group", {collective}, wrong_group},
      {"say other bytes", {collective}, wrong_bytes},
      {"say nothing about a collective", {collective}, hide_collective},
      {"say that an operator communicates", {collective}, claim_collective},
      {"pass another group size", {type}, wrong_group_size},
      {"pass no group", {collective}, no_group},
      {"take all ranks from a group", {group}, empty_group},
      {"put a rank into a group twice", {group}, rank_twice},
      {"put a rank beyond the world into a group", {group}, rank_outside},
      {"give two groups one name", {group}, groups_of_one_name},
      {"take this rank from a group", {group}, not_a_member},
  };
}

}  // namespace hocket
