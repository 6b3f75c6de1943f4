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

// A copy of a part that is cast by itself from now on: it lies by itself then.
bool copies_part(const Facts& facts, NodeId id, const PartlyUsed& found) {
  const NodeId part = facts.source(id);
  return facts.may_change(id) && !facts.is_returned(id) && same_type(facts.type(part), facts.type(id)) &&
         std::find(found.parts.begin(), found.parts.end(), part) != found.parts.end();
}

NodeId write_split(const Graph& graph, const PartlyUsed& found, NodeId source, NodeWriter& writer) {
  std::vector<ArgInit> call = {writer.now(source)};
  const auto args = graph.args(found.split);
  for (std::size_t a = 1; a < args.size(); ++a) call.push_back(NodeWriter::same(args[a]));
  return writer.op("aten.split.Tensor", call, "split");
}

NodeId write_part(const Graph& graph, const PartlyUsed& found, NodeId part, NodeId split, NodeWriter& writer) {
  const NodeId taken = writer.op("getitem", {split, NodeWriter::same(graph.args(part)[1])}, "taken");
  return writer.op("prims.convert_element_type", {taken, NodeWriter::same(graph.args(found.cast)[1])}, "cast");
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

// ---------------------------------------------------------------- all of them

// What becomes of each node.
enum class Fate : std::uint8_t { stays, goes, is_its_source, is_split, is_part, is_cast };

class LeanCasts {
 public:
  LeanCasts(const Graph& graph, const CostModel* cost) : graph_(graph), cost_(cost), facts_(graph) {}

  Result<RewriteResult> run() {
    for (std::size_t i = 0; i < graph_.size(); ++i) {
      if (is_copy(graph_, NodeId(i)) && !fate_.contains(NodeId(i))) find(NodeId(i));
    }
    RewriteResult result;
    result.report = fmt::format("{} casts of parts only, {} done by a copy, {} copies that change nothing",
                                parts_.size(), casts_.size(), idle_);
    if (!parts_.empty() || !casts_.empty() || idle_ > 0) {
      HOCKET_TRY(result.graph, rewritten());
    }
    return result;
  }

 private:
  struct Entry {
    Fate fate = Fate::stays;
    std::size_t index = 0;
  };

  void find(NodeId id) {
    if (changes_nothing(facts_, id)) {
      drop(id);
    } else if (auto part = partly_used(facts_, id)) {
      fate_[id] = {Fate::goes};
      fate_[part->split] = {Fate::is_split, parts_.size()};
      for (const NodeId taken : part->parts) {
        fate_[taken] = {Fate::is_part, parts_.size()};
        for (const NodeId user : facts_.users(taken)) {
          if (copies_part(facts_, user, *part)) drop(user);
        }
      }
      parts_.push_back(std::move(*part));
    } else if (auto cast = cast_of_cat(facts_, id)) {
      for (const NodeId gone : cast->between) fate_[gone] = {Fate::goes};
      fate_[id] = {Fate::is_cast, casts_.size()};
      casts_.push_back(std::move(*cast));
    }
  }

  void drop(NodeId id) {
    fate_[id] = {Fate::is_its_source};
    ++idle_;
  }

  Result<Graph> rewritten() const {
    GraphRewriter rewriter(graph_);
    std::vector<NodeId> splits(parts_.size());
    const auto writer_of = [&](const PartlyUsed& part) {
      return NodeWriter(rewriter, cost_, fmt::format("{}_part", graph_.name(part.cast)));
    };
    for (std::size_t i = 0; i < graph_.size(); ++i) {
      const NodeId id(i);
      const auto found = fate_.find(id);
      const auto [fate, index] = found == fate_.end() ? Entry() : found->second;
      switch (fate) {
        case Fate::stays: rewriter.copy(id); break;
        case Fate::goes: break;
        case Fate::is_its_source: rewriter.replace(id, rewriter.now(facts_.source(id))); break;
        case Fate::is_split: {
          NodeWriter writer = writer_of(parts_[index]);
          splits[index] = write_split(graph_, parts_[index], facts_.source(parts_[index].cast), writer);
          break;
        }
        case Fate::is_part: {
          NodeWriter writer = writer_of(parts_[index]);
          rewriter.replace(id, write_part(graph_, parts_[index], id, splits[index], writer));
          break;
        }
        case Fate::is_cast: rewriter.replace(id, write_cast(graph_, casts_[index], rewriter, cost_)); break;
      }
    }
    return rewriter.finish();
  }

  const Graph& graph_;
  const CostModel* cost_;
  const Facts facts_;
  std::map<NodeId, Entry> fate_;  // of nodes that do not stay
  std::vector<PartlyUsed> parts_;
  std::vector<CastOfCat> casts_;
  std::size_t idle_ = 0;
};

}  // namespace

Result<RewriteResult> lean_casts(const Graph& graph, const LeanCastsOptions& options) {
  return LeanCasts(graph, options.cost).run();
}

}  // namespace hocket
