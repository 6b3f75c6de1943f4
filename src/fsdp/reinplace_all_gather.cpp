#include "hocket/fsdp/reinplace_all_gather.h"

#include <algorithm>
#include <map>

#include "hocket/fsdp/remove_dead_getitems.h"
#include "hocket/ir/users.h"
#include "ir/node_facts.h"

namespace hocket {

namespace {

constexpr std::string_view gather_op = "_c10d_functional.all_gather_into_tensor.default";
constexpr std::string_view copy_in_op = "fsdp.all_gather_copy_in.default";

// What an all_gather can write into: the second result of a copy-in, or a node whose slice its input is.
struct Match {
  NodeId copy_in;  // none: `buffer` is the tensor itself
  NodeId buffer;
};

bool is_dense(const Graph& graph, const Output& output) {
  SymbolTable symbols = graph.symbols();
  const TypeView type = graph.type(output);
  const auto dense = contiguous_strides(type.shape, symbols);
  if (!dense) return false;
  for (std::size_t i = 0; i < type.shape.size(); ++i) {
    if (type.shape[i] != Dim(1) && type.strides[i] != dense->dims[i]) return false;
  }
  return true;
}

// Looks like the result, and holds `own` at the place where this rank's part of the result is?
bool could_hold(const Graph& graph, const Output& buffer, const Output& own, const Output& result,
                std::int64_t position) {
  const TypeView held = graph.type(buffer);
  const TypeView wanted = graph.type(result);
  if (buffer.storage != own.storage || buffer.device != result.device || held.dtype != wanted.dtype) return false;
  if (!std::ranges::equal(held.shape, wanted.shape) || !all_static(held.shape) || !is_dense(graph, buffer))
    return false;
  std::int64_t elements = 1;
  for (const Dim size : graph.type(own).shape) elements *= size.value();
  return is_dense(graph, own) && buffer.offset.is_static() && own.offset.is_static() &&
         own.offset.value() - buffer.offset.value() == position * elements;
}

// This rank's place in the group; nothing where the graph does not say which rank it is.
std::optional<std::int64_t> position_in_group(const Graph& graph, GroupId group) {
  const auto& ranks = graph.group(group).ranks;
  const auto own = std::find(ranks.begin(), ranks.end(), Rank{static_cast<std::int32_t>(graph.rank())});
  if (graph.rank() < 0 || own == ranks.end()) return std::nullopt;
  return own - ranks.begin();
}

Result<Match> find_buffer(const Graph& graph, NodeId gather) {
  const Collective& collective = *graph.collective(gather);
  const NodeId input = graph.args(gather)[0].as_node();
  if (graph.outputs(input).size() != 1 || graph.outputs(gather).size() != 1 || !graph.node(input).view_of.valid())
    return fail(ErrorKind::input, "its input {} is no slice of a buffer", graph.name(input));
  const Output& own = graph.outputs(input)[0];
  const Output& result = graph.outputs(gather)[0];
  const auto position = position_in_group(graph, collective.group);
  if (!position)
    return fail(ErrorKind::input, "the graph does not say which rank of @{} it is", graph.group(collective.group).name);
  for (NodeId at = graph.node(input).view_of; at.valid(); at = graph.node(at).view_of) {
    if (is_op(graph, at, copy_in_op) && graph.outputs(at).size() == 2 &&
        could_hold(graph, graph.outputs(at)[1], own, result, *position))
      return Match{at, graph.args(at)[1].as_node()};
    if (graph.outputs(at).size() == 1 && could_hold(graph, graph.outputs(at)[0], own, result, *position))
      return Match{NodeId::none(), at};
  }
  return fail(ErrorKind::input, "its input {} is no slice at this rank's place of a buffer that could hold the result",
              graph.name(input));
}

struct Uses {
  std::vector<std::vector<NodeId>> of;  // by storage: the nodes that take a tensor in it, in program order
  std::vector<NodeId> waits;            // first_waits()
};

Uses uses_in(const Graph& graph) {
  Uses uses{std::vector<std::vector<NodeId>>(graph.storages().size()), first_waits(graph)};
  for (std::size_t i = 0; i < graph.size(); ++i) {
    for (const NodeId input : graph.inputs(NodeId(i))) {
      for (const Output& output : graph.outputs(input)) {
        auto& list = uses.of[output.storage.index()];
        if (list.empty() || list.back() != NodeId(i)) list.emplace_back(i);
      }
    }
  }
  return uses;
}

// After the collective the buffer holds other data: nobody else may look at it then, nor own it, nor still communicate it.
Status check_buffer_is_free(const Graph& graph, const Uses& uses, NodeId gather, const Match& match) {
  const StorageId storage = graph.outputs(match.buffer)[0].storage;
  const NodeId maker = graph.storage(storage).allocated_by;
  if (graph.node(maker).kind != NodeKind::op)
    return fail(ErrorKind::input, "its buffer {} is an input of the graph", graph.name(maker));
  for (const NodeId user : uses.of[storage.index()]) {
    if (user > gather && !is_getitem(graph, user))
      return fail(ErrorKind::input, "its buffer {} is used by {} later", graph.name(maker), graph.name(user));
    if (is_in_flight(graph, uses.waits, user, gather))
      return fail(ErrorKind::input, "{} may still be at its buffer {}", graph.name(user), graph.name(maker));
  }
  return {};
}

// The second result of a copy-in: a getitem that is there before the collective, or a new one.
NodeId buffer_value(GraphRewriter& rewriter, const Users& users, NodeId gather, const Match& match) {
  const Graph& graph = rewriter.from();
  if (!match.copy_in.valid()) return rewriter.now(match.buffer);
  for (const NodeId user : users.of(match.copy_in)) {
    const auto args = graph.args(user);
    if (user < gather && is_getitem(graph, user) && args[1].is(ArgKind::integer) && args[1].as_integer() == 1)
      return rewriter.now(user);
  }
  return rewriter.op("getitem", {rewriter.now(match.copy_in), 1}, fmt::format("{}_buffer", graph.name(gather)));
}

void gather_in_place(GraphRewriter& rewriter, const Users& users, NodeId gather, const Match& match) {
  const Graph& graph = rewriter.from();
  const auto args = graph.args(gather);
  const NodeId out = buffer_value(rewriter, users, gather, match);
  const NodeId in_place = rewriter.op("_c10d_functional.all_gather_into_tensor_out",
                                      {rewriter.now(args[0].as_node()), ArgInit(args[1]), ArgInit(args[2])},
                                      fmt::format("{}_out", graph.name(gather)), {{"out", out}});
  if (const auto time = graph.estimate(gather); time && in_place.valid()) rewriter.set_time(in_place, *time);
  rewriter.replace(gather, in_place);
}

}  // namespace

Result<RewriteResult> reinplace_all_gather(const Graph& graph, const ReinplaceAllGatherOptions&) {
  const Uses uses = uses_in(graph);
  RewriteResult result;
  std::map<NodeId, Match> matches;
  std::size_t gathers = 0;
  for (std::size_t i = 0; i < graph.size(); ++i) {
    const NodeId id(i);
    if (!is_op(graph, id, gather_op) || graph.collective(id) == nullptr) continue;
    ++gathers;
    const Result<Match> match = find_buffer(graph, id);
    const Status free = match ? check_buffer_is_free(graph, uses, id, *match) : Status();
    if (match && free) matches.emplace(id, *match);
    else result.notes.push_back(fmt::format("{}: {}", graph.name(id), (match ? free.error() : match.error()).message));
  }
  result.report = fmt::format("{} of {} all_gathers in place", matches.size(), gathers);
  if (matches.empty()) return result;
  const Users users(graph);
  GraphRewriter rewriter(graph);
  for (std::size_t i = 0; i < graph.size(); ++i) {
    const auto match = matches.find(NodeId(i));
    if (match == matches.end()) rewriter.copy(NodeId(i));
    else gather_in_place(rewriter, users, NodeId(i), match->second);
  }
  HOCKET_TRY(Graph changed, rewriter.finish());
  HOCKET_TRY(RewriteResult cleaned, remove_dead_getitems(changed));
  result.graph = cleaned.graph ? std::move(*cleaned.graph) : std::move(changed);
  return result;
}

}  // namespace hocket
