#include "hocket/fuse/lean_casts.h"

#include <algorithm>
#include <map>

#include "fuse/movement.h"
#include "fuse/node_writer.h"
#include "ir/node_facts.h"

namespace hocket {

namespace {

using fuse::NodeWriter;

bool is_cast(const Graph& graph, NodeId id) { return is_op(graph, id, "prims.convert_element_type.default"); }
bool is_copy(const Graph& graph, NodeId id) {
  return is_cast(graph, id) || is_op(graph, id, "aten.clone.default") || is_op(graph, id, "aten._to_copy.default");
}

std::int64_t elements(const TypeView& type) {
  std::int64_t count = 1;
  for (const Dim size : type.shape) count *= size.value();
  return count;
}

// What the three rewrites below ask of a graph.
class Facts {
 public:
  explicit Facts(const Graph& graph)
      : graph_(graph), users_(graph), movement_(graph, users_), last_write_(last_writes(graph)) {
    returned_.resize(graph.storages().size(), false);
    for (std::size_t i = 0; i < graph.size(); ++i) {
      if (graph.node(NodeId(i)).kind != NodeKind::output) continue;
      for (const NodeId input : graph.inputs(NodeId(i))) {
        for (const Output& output : graph.outputs(input)) returned_[output.storage.index()] = true;
      }
    }
  }

  const Graph& graph() const { return graph_; }
  std::span<const NodeId> users(NodeId id) const { return users_.of(id); }
  TypeView type(NodeId id) const { return graph_.type(graph_.outputs(id)[0]); }
  StorageId storage(NodeId id) const { return graph_.outputs(id)[0].storage; }

  // One tensor, dense, of known sizes.
  bool is_plain(NodeId id) const {
    return graph_.outputs(id).size() == 1 && !graph_.node(id).multi && is_contiguous(type(id));
  }
  // The tensor that a node is made of.
  NodeId source(NodeId id) const {
    const auto args = graph_.args(id);
    return args.empty() || !args[0].is(ArgKind::value) ? NodeId::none() : args[0].as_node();
  }
  // A cast or copy beside communication, dense on both sides, of what nobody writes from then on.
  bool may_change(NodeId id) const {
    if (!is_copy(graph_, id) || !movement_.beside_communication(id) || !is_plain(id)) return false;
    const NodeId from = source(id);
    return from.valid() && is_plain(from) && !last_write_[storage(id).index()].valid() && stays(from, id);
  }
  bool stays(NodeId value, NodeId from_here_on) const {
    const NodeId write = last_write_[storage(value).index()];
    return !write.valid() || write < from_here_on;
  }
  bool is_returned(NodeId id) const { return returned_[storage(id).index()]; }
  bool only_user(NodeId id, NodeId user) const {
    const auto uses = users_.of(id);
    return uses.size() == 1 && uses[0] == user;
  }

 private:
  const Graph& graph_;
  Users users_;
  fuse::Movement movement_;
  std::vector<NodeId> last_write_;  // by storage
  std::vector<bool> returned_;      // by storage
};

Nanoseconds time_of_copy(const Graph& graph, NodeId id, const CostModel& cost) {
  Bytes moved = tensor_bytes(graph.type(graph.outputs(id)[0]));
  for (const NodeId input : graph.inputs(id)) moved += tensor_bytes(graph.type(graph.outputs(input)[0]));
  return cost.written_copy(moved);
}

// ---------------------------------------------------------------- what changes nothing

// A copy of a part lets go of the whole; one that is as large as what it is made of only costs.
bool changes_nothing(const Facts& facts, NodeId id) {
  if (!facts.may_change(id) || facts.is_returned(id)) return false;
  const NodeId from = facts.source(id);
  const auto bytes = [&](NodeId of) { return facts.graph().storage(facts.storage(of)).bytes; };
  return same_type(facts.type(from), facts.type(id)) && bytes(from).is_static() && bytes(id).is_static() &&
         bytes(from).value() <= bytes(id).value();
}

Result<std::optional<Graph>> without_idle_copies(const Graph& graph, std::size_t& count) {
  const Facts facts(graph);
  GraphRewriter rewriter(graph);
  count = 0;
  for (std::size_t i = 0; i < graph.size(); ++i) {
    const NodeId id(i);
    if (!changes_nothing(facts, id)) {
      rewriter.copy(id);
      continue;
    }
    rewriter.replace(id, rewriter.now(facts.source(id)));
    ++count;
  }
  if (count == 0) return std::optional<Graph>();
  HOCKET_TRY(Graph changed, rewriter.finish());
  return std::optional(std::move(changed));
}

// ---------------------------------------------------------------- parts of a cast

// A cast of a whole that is split along its first dimension, and of which no more than half is used.
struct PartlyUsed {
  NodeId cast, split;
  std::vector<NodeId> parts;
};

std::optional<PartlyUsed> partly_used(const Facts& facts, NodeId id) {
  const Graph& graph = facts.graph();
  if (!is_cast(graph, id) || !facts.may_change(id) || facts.users(id).size() != 1) return std::nullopt;
  PartlyUsed found{id, facts.users(id)[0], {}};
  const auto args = graph.args(found.split);
  if (!is_op(graph, found.split, "aten.split.Tensor") ||
      (args.size() > 2 && !(args[2].is(ArgKind::integer) && args[2].as_integer() == 0)))
    return std::nullopt;
  std::int64_t used = 0;
  for (const NodeId part : facts.users(found.split)) {
    if (!is_getitem(graph, part) || facts.users(part).empty()) return std::nullopt;
    found.parts.push_back(part);
    used += elements(facts.type(part));
  }
  if (used * 2 > elements(facts.type(id))) return std::nullopt;
  return found;
}

Result<std::optional<Graph>> with_casts_of_parts(const Graph& graph, const CostModel* cost, std::size_t& count) {
  const Facts facts(graph);
  std::vector<PartlyUsed> list;
  std::map<NodeId, std::size_t> at;  // nodes that are replaced
  for (std::size_t i = 0; i < graph.size(); ++i) {
    auto found = partly_used(facts, NodeId(i));
    if (!found) continue;
    at[found->cast] = at[found->split] = list.size();
    for (const NodeId part : found->parts) at[part] = list.size();
    list.push_back(std::move(*found));
  }
  count = list.size();
  if (list.empty()) return std::optional<Graph>();
  GraphRewriter rewriter(graph);
  std::vector<NodeId> splits(list.size());
  for (std::size_t i = 0; i < graph.size(); ++i) {
    const NodeId id(i);
    const auto replaced = at.find(id);
    if (replaced == at.end()) {
      rewriter.copy(id);
      continue;
    }
    const PartlyUsed& found = list[replaced->second];
    NodeWriter writer(rewriter, cost, fmt::format("{}_part", graph.name(found.cast)));
    if (id == found.cast) continue;
    const auto args = graph.args(id);
    if (id == found.split) {
      std::vector<ArgInit> call = {writer.now(facts.source(found.cast))};
      for (std::size_t a = 1; a < args.size(); ++a) call.push_back(NodeWriter::same(args[a]));
      splits[replaced->second] = writer.op("aten.split.Tensor", call, "split");
      continue;
    }
    const NodeId part = writer.op("getitem", {splits[replaced->second], NodeWriter::same(args[1])}, "taken");
    rewriter.replace(
        id, writer.op("prims.convert_element_type", {part, NodeWriter::same(graph.args(found.cast)[1])}, "cast"));
  }
  HOCKET_TRY(Graph changed, rewriter.finish());
  return std::optional(std::move(changed));
}

// ---------------------------------------------------------------- a cast of what was put together

// wait -> split along dimension 0 -> all parts in their order -> cat along `dim` -> views of all of it -> cast.
struct CastOfCat {
  NodeId cast, whole;
  std::vector<NodeId> between;  // what nobody else uses: it goes
  std::int64_t parts = 0, dim = 0;
};

// The parts of a cat, if they are all of one split along dimension 0 in their order, and nobody else uses them.
bool find_parts(const Facts& facts, NodeId cat, CastOfCat& found) {
  const Graph& graph = facts.graph();
  const auto args = graph.args(cat);
  if (args.size() < 2 || !args[0].is(ArgKind::list) || !args[1].is(ArgKind::integer)) return false;
  const auto dims = static_cast<std::int64_t>(facts.type(cat).shape.size());
  found.dim = args[1].as_integer() < 0 ? args[1].as_integer() + dims : args[1].as_integer();
  if (found.dim < 1 || found.dim >= dims) return false;
  NodeId split;
  for (const Arg& arg : graph.pool().elements(args[0])) {
    if (!arg.is(ArgKind::value) || !is_getitem(graph, arg.as_node())) return false;
    const NodeId part = arg.as_node();
    const auto call = graph.args(part);
    if (split.valid() && call[0].as_node() != split) return false;
    split = call[0].as_node();
    if (!call[1].is(ArgKind::integer) || call[1].as_integer() != found.parts++ || !facts.only_user(part, cat) ||
        !same_type(facts.type(part), facts.type(graph.pool().elements(args[0])[0].as_node())))
      return false;
    found.between.push_back(part);
  }
  if (!split.valid() || !is_op(graph, split, "aten.split.Tensor")) return false;
  const auto call = graph.args(split);
  const bool first_dim = call.size() < 3 || (call[2].is(ArgKind::integer) && call[2].as_integer() == 0);
  found.between.push_back(split);
  found.whole = call[0].as_node();
  return first_dim && facts.users(split).size() == static_cast<std::size_t>(found.parts) &&
         graph.outputs(split).size() == static_cast<std::size_t>(found.parts);
}

std::optional<CastOfCat> cast_of_cat(const Facts& facts, NodeId id) {
  const Graph& graph = facts.graph();
  if (!is_cast(graph, id) || !facts.may_change(id)) return std::nullopt;
  CastOfCat found;
  found.cast = id;
  NodeId user = id;
  NodeId at = facts.source(id);
  while (at.valid() && facts.only_user(at, user) && graph.node(at).view_of.valid() && facts.is_plain(at) &&
         facts.source(at).valid() && facts.is_plain(facts.source(at)) &&
         elements(facts.type(at)) == elements(facts.type(facts.source(at)))) {
    found.between.push_back(at);
    user = at;
    at = facts.source(at);
  }
  if (!at.valid() || !is_op(graph, at, "aten.cat.default") || !facts.only_user(at, user) || !facts.is_plain(at))
    return std::nullopt;
  found.between.push_back(at);
  if (!find_parts(facts, at, found) || !facts.is_plain(found.whole) || !graph.node(found.whole).wait_of.valid() ||
      !facts.stays(found.whole, at))
    return std::nullopt;
  return found;
}

// The parts lie behind each other: as one more dimension in front, which goes to where the cat puts them.
NodeId write_cast(const Graph& graph, const CastOfCat& found, GraphRewriter& rewriter, const CostModel* cost) {
  NodeWriter writer(rewriter, cost, fmt::format("{}_lean", graph.name(found.cast)));
  const TypeView whole = graph.type(graph.outputs(found.whole)[0]);
  std::vector<ArgInit> sizes = {found.parts, whole.shape[0].value() / found.parts};
  for (std::size_t d = 1; d < whole.shape.size(); ++d) sizes.emplace_back(whole.shape[d].value());
  std::vector<ArgInit> places;
  for (std::int64_t d = 0; d < static_cast<std::int64_t>(whole.shape.size()); ++d) {
    if (d == found.dim) places.emplace_back(std::int64_t{0});
    places.emplace_back(d + 1);
  }
  const NodeId parts = writer.op("aten.view", {writer.now(found.whole), ArgInit(std::move(sizes))}, "parts");
  const NodeId placed = writer.op("aten.permute", {parts, ArgInit(std::move(places))}, "placed");
  const Dtype dtype = graph.type(graph.outputs(found.cast)[0]).dtype;
  const NodeId cast =
      rewriter.op("aten._to_copy", {placed}, fmt::format("{}_lean_cast", graph.name(found.cast)),
                  {{"dtype", Arg::dtype(dtype)},
                   {"memory_format", rewriter.builder().text(ArgKind::memory_format, "contiguous_format")}});
  if (cast.valid() && cost != nullptr) rewriter.set_time(cast, time_of_copy(rewriter.graph(), cast, *cost));
  return writer.op("aten.view", {cast, fuse::sizes_of(graph, found.cast)}, "whole");
}

Result<std::optional<Graph>> with_copies_that_cast(const Graph& graph, const CostModel* cost, std::size_t& count) {
  const Facts facts(graph);
  std::map<NodeId, CastOfCat> casts;
  std::vector<bool> gone(graph.size(), false);
  for (std::size_t i = 0; i < graph.size(); ++i) {
    auto found = cast_of_cat(facts, NodeId(i));
    if (!found) continue;
    for (const NodeId id : found->between) gone[id.index()] = true;
    casts.emplace(NodeId(i), std::move(*found));
  }
  count = casts.size();
  if (casts.empty()) return std::optional<Graph>();
  GraphRewriter rewriter(graph);
  for (std::size_t i = 0; i < graph.size(); ++i) {
    const NodeId id(i);
    if (const auto found = casts.find(id); found != casts.end())
      rewriter.replace(id, write_cast(graph, found->second, rewriter, cost));
    else if (!gone[i]) rewriter.copy(id);
  }
  HOCKET_TRY(Graph changed, rewriter.finish());
  return std::optional(std::move(changed));
}

}  // namespace

Result<RewriteResult> lean_casts(const Graph& graph, const LeanCastsOptions& options) {
  RewriteResult result;
  const auto now = [&]() -> const Graph& { return result.graph ? *result.graph : graph; };
  const auto take = [&](std::optional<Graph> changed) {
    if (changed) result.graph = std::move(changed);
  };
  std::size_t parts = 0, joined = 0, idle = 0;
  HOCKET_TRY(std::optional<Graph> changed, with_casts_of_parts(now(), options.cost, parts));
  take(std::move(changed));
  HOCKET_TRY(changed, with_copies_that_cast(now(), options.cost, joined));
  take(std::move(changed));
  // Last: a part that was cast by itself needs no copy any more.
  HOCKET_TRY(changed, without_idle_copies(now(), idle));
  take(std::move(changed));
  result.report =
      fmt::format("{} casts of parts only, {} done by a copy, {} copies that change nothing", parts, joined, idle);
  return result;
}

}  // namespace hocket
