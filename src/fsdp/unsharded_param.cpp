#include "fsdp/unsharded_param.h"

#include <algorithm>

#include "ir/node_facts.h"

namespace hocket::fsdp {

namespace {

bool is_on(const Graph& graph, NodeId id, NodeId input) {
  const auto args = graph.args(id);
  return !args.empty() && args[0].is(ArgKind::value) && args[0].as_node() == input;
}

void append(std::vector<NodeId>& list, NodeId id) {
  if (list.empty() || list.back() != id) list.push_back(id);
}

// Is there an id of the sorted list strictly between the two?
std::optional<NodeId> first_between(const std::vector<NodeId>& list, NodeId after, NodeId before) {
  const auto found = std::upper_bound(list.begin(), list.end(), after);
  return found != list.end() && *found < before ? std::optional(*found) : std::nullopt;
}

// Pairs resizes to full size with resizes to 0, with one copy in each pair.
Status pair_up(const Graph& graph, const std::vector<NodeId>& writes, UnshardedParam& param) {
  Round round;
  for (const NodeId id : writes) {
    if (is_fsdp_copy(graph, id)) {
      if (!round.resize_to_full.valid())
        return fail(ErrorKind::input, "{} fills it while it is not resized to full size", graph.name(id));
      if (round.copy.valid())
        return fail(ErrorKind::input, "{} and {} both fill it after {}", graph.name(round.copy), graph.name(id),
                    graph.name(round.resize_to_full));
      round.copy = id;
      round.gathered = graph.args(id)[1].as_node();
      continue;
    }
    const auto args = graph.args(id);
    if (args.size() < 2 || !args[1].is(ArgKind::integer))
      return fail(ErrorKind::input, "{} resizes it to a size that is not known", graph.name(id));
    if (args[1].as_integer() > 0) {
      if (round.resize_to_full.valid())
        return fail(ErrorKind::input, "{} and {} resize it to full size with no resize to 0 between them",
                    graph.name(round.resize_to_full), graph.name(id));
      round.resize_to_full = id;
      continue;
    }
    if (!round.resize_to_full.valid())
      return fail(ErrorKind::input, "{} resizes it to 0 with no resize to full size before", graph.name(id));
    if (!round.copy.valid())
      return fail(ErrorKind::input, "nothing is copied in between {} and {}", graph.name(round.resize_to_full),
                  graph.name(id));
    round.resize_to_zero = id;
    param.rounds.push_back(round);
    round = {};
  }
  if (round.resize_to_full.valid())
    return fail(ErrorKind::input, "{} resizes it to full size, but nothing resizes it to 0 afterwards",
                graph.name(round.resize_to_full));
  return {};
}

// Only resizes of the input itself and copies into it may write it.
Status check_writes(const Graph& graph, const Accesses& accesses, NodeId input) {
  for (const NodeId id : accesses.writing[graph.outputs(input)[0].storage.index()]) {
    if (!is_resize(graph, id) && !is_fsdp_copy(graph, id))
      return fail(ErrorKind::input, "{} changes it", graph.name(id));
    if (!is_on(graph, id, input)) return fail(ErrorKind::input, "{} changes it through an alias", graph.name(id));
    const auto args = graph.args(id);
    if (is_fsdp_copy(graph, id) && (args.size() < 2 || !args[1].is(ArgKind::value)))
      return fail(ErrorKind::input, "{} copies nothing that is known", graph.name(id));
  }
  return {};
}

// The round that a node stands in, between the copy and the resize to 0.
const Round* round_of(const UnshardedParam& param, NodeId id) {
  const auto after = std::upper_bound(param.rounds.begin(), param.rounds.end(), id,
                                      [](NodeId at, const Round& round) { return at < round.copy; });
  if (after == param.rounds.begin()) return nullptr;
  const Round& round = *std::prev(after);
  return id < round.resize_to_zero ? &round : nullptr;
}

// Every use, direct or through an alias, stands in a round, and an alias is not used in another round than its own.
Status check_uses(const Graph& graph, const Accesses& accesses, const UnshardedParam& param) {
  const StorageId storage = graph.outputs(param.input)[0].storage;
  for (const NodeId id : accesses.touching[storage.index()]) {
    if (is_resize(graph, id)) continue;
    const bool fills = is_fsdp_copy(graph, id) && is_on(graph, id, param.input);
    const Round* round = round_of(param, id);
    for (const NodeId used : graph.inputs(id)) {
      const auto outputs = graph.outputs(used);
      const bool lies_there =
          std::any_of(outputs.begin(), outputs.end(), [&](const Output& output) { return output.storage == storage; });
      if (!lies_there) continue;
      if (used == param.input && (fills || graph.node(id).kind == NodeKind::output)) continue;
      if (fills) return fail(ErrorKind::input, "{} copies it into itself", graph.name(id));
      if (round == nullptr) return fail(ErrorKind::input, "{} uses it while it is not filled", graph.name(id));
      if (used != param.input && round_of(param, used) != round)
        return fail(ErrorKind::input, "{} uses its alias {} of another round", graph.name(id), graph.name(used));
    }
  }
  return {};
}

// The gathered value can stand for the parameter: it looks the same, and nobody changes it while the parameter would be used.
Status check_gathered(const Graph& graph, const Accesses& accesses, NodeId input, const Round& round) {
  const auto outputs = graph.outputs(round.gathered);
  const TypeView wanted = graph.type(graph.outputs(input)[0]);
  const bool fits = outputs.size() == 1 && graph.type(outputs[0]).dtype == wanted.dtype &&
                    std::ranges::equal(graph.type(outputs[0]).shape, wanted.shape);
  if (!fits) return fail(ErrorKind::input, "{}, which is copied in, has another type", graph.name(round.gathered));
  const auto& writes = accesses.writing[outputs[0].storage.index()];
  if (const auto write = first_between(writes, round.copy, round.resize_to_zero))
    return fail(ErrorKind::input, "{} changes {}, which was copied in, while it is used", graph.name(*write),
                graph.name(round.gathered));
  if (const auto barrier = first_between(accesses.opaque, round.copy, round.resize_to_zero))
    return fail(ErrorKind::input, "{} may change it: its effects are not known", graph.name(*barrier));
  return {};
}

}  // namespace

Accesses::Accesses(const Graph& graph)
    : touching(graph.storages().size()), writing(graph.storages().size()), inputs(graph.storages().size()) {
  for (std::size_t i = 0; i < graph.size(); ++i) {
    const NodeId id(i);
    for (const NodeId input : graph.inputs(id)) {
      for (const Output& output : graph.outputs(input)) append(touching[output.storage.index()], id);
    }
    for (const NodeId mutated : graph.mutates(id)) {
      for (const Output& output : graph.outputs(mutated)) append(writing[output.storage.index()], id);
    }
    if (graph.node(id).kind == NodeKind::op) {
      const OpSpec* spec = graph.op_spec(id);
      if (spec == nullptr || spec->effects.opaque) opaque.push_back(id);
    } else {
      for (const Output& output : graph.outputs(id)) append(inputs[output.storage.index()], id);
    }
  }
}

bool is_resize(const Graph& graph, NodeId id) { return is_op(graph, id, "inductor.resize_storage_bytes_.default"); }
bool is_fsdp_copy(const Graph& graph, NodeId id) { return is_op(graph, id, "fsdp.copy_.default"); }

Result<UnshardedParam> unsharded_param(const Graph& graph, const Accesses& accesses, NodeId input) {
  UnshardedParam param{input, {}};
  const StorageId storage = graph.outputs(input)[0].storage;
  if (accesses.inputs[storage.index()].size() > 1) return fail(ErrorKind::input, "another input lies in its storage");
  HOCKET_CHECK(check_writes(graph, accesses, input));
  HOCKET_CHECK(pair_up(graph, accesses.writing[storage.index()], param));
  HOCKET_CHECK(check_uses(graph, accesses, param));
  for (const Round& round : param.rounds) HOCKET_CHECK(check_gathered(graph, accesses, input, round));
  return param;
}

}  // namespace hocket::fsdp
