#include "hocket/fuse/move_rows.h"

#include <algorithm>

#include "fuse/chains.h"
#include "fuse/node_writer.h"
#include "hocket/ir/users.h"
#include "ir/node_facts.h"

namespace hocket {

namespace {

using fuse::NodeWriter;

// A tensor that is cut into parts along one dimension, and all parts put together again along another.
struct Regrouping {
  NodeId source, split, cat;
  std::vector<NodeId> parts;
  std::int64_t from = 0, to = 0;  // the dimensions
};

// What is replaced. A gather regroups what its wait gives, a scatter what it takes.
struct Movement {
  Regrouping regrouping;
  NodeId collective, wait;
  bool gathers = false;
};

std::optional<std::int64_t> dim_argument(const Graph& graph, NodeId id, std::size_t position) {
  const auto args = graph.args(id);
  if (position >= args.size()) return 0;
  if (!args[position].is(ArgKind::integer)) return std::nullopt;
  const auto dims = static_cast<std::int64_t>(graph.type(graph.outputs(id)[0]).shape.size());
  const std::int64_t dim = args[position].as_integer();
  return dim < 0 ? dim + dims : dim;
}

class Matcher {
 public:
  Matcher(const Graph& graph, const MoveRowsOptions& options)
      : graph_(graph), options_(options), users_(graph), chains_(graph), last_write_(last_writes(graph)) {}

  std::optional<Movement> match(NodeId cat) const {
    std::optional<Regrouping> found = regrouping(cat);
    if (!found) return std::nullopt;
    Movement movement{std::move(*found), {}, {}, false};
    const Regrouping& regrouped = movement.regrouping;
    if (regrouped.from == 0 && regrouped.to > 0) {
      if (!follows_gather(movement)) return std::nullopt;
    } else if (regrouped.from > 0 && regrouped.to == 0) {
      if (!leads_to_scatter(movement)) return std::nullopt;
    } else {
      return std::nullopt;
    }
    return pays(movement) ? std::optional(std::move(movement)) : std::nullopt;
  }

 private:
  NodeId only_user(NodeId id) const {
    const auto uses = users_.of(id);
    return uses.size() == 1 ? uses[0] : NodeId::none();
  }
  TypeView type(NodeId id) const { return graph_.type(graph_.outputs(id)[0]); }
  bool is_plain(NodeId id) const {
    return graph_.outputs(id).size() == 1 && !graph_.node(id).multi && is_contiguous(type(id));
  }

  // All parts of one split, in their order, which nobody else uses.
  std::optional<Regrouping> regrouping(NodeId cat) const {
    if (!is_op(graph_, cat, "aten.cat.default") || !is_plain(cat)) return std::nullopt;
    const auto args = graph_.args(cat);
    const auto to = dim_argument(graph_, cat, 1);
    if (args.empty() || !args[0].is(ArgKind::list) || !to) return std::nullopt;
    Regrouping found;
    found.cat = cat;
    for (const Arg& arg : graph_.pool().elements(args[0])) {
      if (!arg.is(ArgKind::value) || !is_getitem(graph_, arg.as_node())) return std::nullopt;
      const NodeId part = arg.as_node();
      const auto call = graph_.args(part);
      const auto index = static_cast<std::int64_t>(found.parts.size());
      if (call.size() != 2 || !call[1].is(ArgKind::integer) || call[1].as_integer() != index ||
          only_user(part) != cat || (found.split.valid() && found.split != call[0].as_node()))
        return std::nullopt;
      found.split = call[0].as_node();
      found.parts.push_back(part);
    }
    if (!found.split.valid() || !is_op(graph_, found.split, "aten.split.Tensor")) return std::nullopt;
    const auto from = dim_argument(graph_, found.split, 2);
    if (!from || graph_.outputs(found.split).size() != found.parts.size() ||
        users_.of(found.split).size() != found.parts.size())
      return std::nullopt;
    found.source = graph_.args(found.split)[0].as_node();
    found.from = *from;
    found.to = *to;
    return is_plain(found.source) ? std::optional(std::move(found)) : std::nullopt;
  }

  bool follows_gather(Movement& movement) const {
    const Regrouping& regrouped = movement.regrouping;
    movement.gathers = true;
    movement.wait = regrouped.source;
    movement.collective = graph_.node(movement.wait).wait_of;
    return movement.collective.valid() &&
           is_op(graph_, movement.collective, "_c10d_functional.all_gather_into_tensor.default") &&
           only_user(movement.collective) == movement.wait && only_user(movement.wait) == regrouped.split &&
           is_plain(input_of(movement)) && one_part_for_each_rank(movement);
  }

  // One wait; the program may return the result besides, as it does with what its backward needs. The collective would read what
  // somebody writes after the copy was made.
  bool leads_to_scatter(Movement& movement) const {
    const Regrouping& regrouped = movement.regrouping;
    movement.collective = only_user(regrouped.cat);
    if (!movement.collective.valid() ||
        !is_op(graph_, movement.collective, "_c10d_functional.reduce_scatter_tensor.default"))
      return false;
    for (const NodeId user : users_.of(movement.collective)) {
      if (graph_.node(user).kind == NodeKind::output) continue;
      if (movement.wait.valid() || !graph_.node(user).wait_of.valid()) return false;
      movement.wait = user;
    }
    const NodeId write = last_write_[graph_.outputs(regrouped.source)[0].storage.index()];
    return movement.wait.valid() && (!write.valid() || write < regrouped.cat) && one_part_for_each_rank(movement);
  }

  NodeId input_of(const Movement& movement) const { return graph_.args(movement.collective)[0].as_node(); }

  bool one_part_for_each_rank(const Movement& movement) const {
    const auto& parts = movement.regrouping.parts;
    const Collective& collective = *graph_.collective(movement.collective);
    const TypeView small = type(movement.gathers ? input_of(movement) : movement.collective);
    return parts.size() == graph_.group(collective.group).ranks.size() &&
           std::all_of(parts.begin(), parts.end(),
                       [&](NodeId part) { return std::ranges::equal(type(part).shape, small.shape); });
  }

  // Such a collective cannot be merged with others: that costs no more than its latency, and nothing where there are none to merge it
  // with, and spares the copy.
  bool pays(const Movement& movement) const {
    const Regrouping& regrouped = movement.regrouping;
    const TypeView small = type(movement.gathers ? input_of(movement) : movement.collective);
    std::int64_t rows = 1;
    for (std::int64_t d = 0; d < std::max(regrouped.from, regrouped.to); ++d)
      rows *= small.shape[static_cast<std::size_t>(d)].value();
    if (rows < 2 || rows > options_.most_rows) return false;
    if (options_.cost == nullptr || chains_.is_in_chain(movement.collective)) return true;
    const Collective& collective = *graph_.collective(movement.collective);
    const Bytes whole = tensor_bytes(type(regrouped.cat));
    return options_.cost->copy(whole + whole) >
           options_.cost->collective(collective.kind, graph_.group(collective.group).ranks, Bytes(0));
  }

  const Graph& graph_;
  const MoveRowsOptions& options_;
  Users users_;
  fuse::Chains chains_;
  std::vector<NodeId> last_write_;  // by storage
};

// At the place of the old collective.
NodeId write_collective(const Graph& graph, const Movement& movement, NodeWriter& writer) {
  const auto args = graph.args(movement.collective);
  std::vector<ArgInit> call;
  if (movement.gathers) {
    call = {writer.now(args[0].as_node()), movement.regrouping.to};
    for (std::size_t i = 1; i < args.size(); ++i) call.push_back(NodeWriter::same(args[i]));
    return writer.op("hocket.all_gather_along", call, "gather");
  }
  call = {writer.now(movement.regrouping.source), NodeWriter::same(args[1]), movement.regrouping.from};
  for (std::size_t i = 2; i < args.size(); ++i) call.push_back(NodeWriter::same(args[i]));
  return writer.op("hocket.reduce_scatter_along", call, "scatter");
}

// What becomes of each node.
enum class Fate : std::uint8_t { stays, goes, collective, wait };

Result<Graph> rewritten(const Graph& graph, const std::vector<Movement>& list, const CostModel* cost) {
  std::vector<std::pair<Fate, std::size_t>> fate(graph.size(), {Fate::stays, 0});
  for (std::size_t k = 0; k < list.size(); ++k) {
    const Regrouping& regrouped = list[k].regrouping;
    for (const NodeId part : regrouped.parts) fate[part.index()] = {Fate::goes, k};
    fate[regrouped.split.index()] = fate[regrouped.cat.index()] = {Fate::goes, k};
    fate[list[k].collective.index()] = {Fate::collective, k};
    fate[list[k].wait.index()] = {Fate::wait, k};
  }
  GraphRewriter rewriter(graph);
  for (std::size_t i = 0; i < graph.size(); ++i) {
    const auto [what, k] = fate[i];
    if (what == Fate::stays) rewriter.copy(NodeId(i));
    if (what == Fate::stays || what == Fate::goes) continue;
    NodeWriter writer(rewriter, cost, fmt::format("{}_rows", graph.name(list[k].collective)));
    if (what == Fate::collective) {
      rewriter.replace(list[k].collective, write_collective(graph, list[k], writer));
      continue;
    }
    const NodeId wait = writer.wait(rewriter.now(list[k].collective));
    rewriter.replace(list[k].wait, wait);
    if (list[k].gathers) rewriter.replace(list[k].regrouping.cat, wait);
  }
  return rewriter.finish();
}

}  // namespace

Result<RewriteResult> move_rows(const Graph& graph, const MoveRowsOptions& options) {
  const Matcher matcher(graph, options);
  std::vector<Movement> list;
  for (std::size_t i = 0; i < graph.size(); ++i) {
    if (auto found = matcher.match(NodeId(i))) list.push_back(std::move(*found));
  }
  const auto gathers = static_cast<std::size_t>(
      std::count_if(list.begin(), list.end(), [](const Movement& movement) { return movement.gathers; }));
  RewriteResult result;
  result.report =
      fmt::format("{} gathers and {} scatters move rows to where they belong", gathers, list.size() - gathers);
  if (list.empty()) return result;
  HOCKET_TRY(result.graph, rewritten(graph, list, options.cost));
  return result;
}

}  // namespace hocket
