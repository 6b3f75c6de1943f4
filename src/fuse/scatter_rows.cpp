#include "hocket/fuse/scatter_rows.h"

#include <algorithm>

#include "fuse/node_writer.h"
#include "hocket/ir/users.h"
#include "ir/node_facts.h"

namespace hocket {

namespace {

using fuse::NodeWriter;

// What is replaced: source -> split -> parts -> cat -> scatter -> wait.
struct RowScatter {
  NodeId source, split, cat, scatter, wait;
  std::vector<NodeId> parts;
  std::int64_t rows = 0;
};

class Matcher {
 public:
  Matcher(const Graph& graph, std::int64_t most_rows)
      : graph_(graph), users_(graph), most_rows_(most_rows), last_write_(last_writes(graph)) {}

  std::optional<RowScatter> match(NodeId scatter) const {
    if (!is_op(graph_, scatter, "_c10d_functional.reduce_scatter_tensor.default")) return std::nullopt;
    RowScatter found;
    found.scatter = scatter;
    if (!find_wait(found)) return std::nullopt;
    found.cat = graph_.args(scatter)[0].as_node();
    NodeId user;
    if (!is_op(graph_, found.cat, "aten.cat.default") || !only_user(found.cat, user) || !find_parts(found))
      return std::nullopt;
    if (!rows_fit(found) || written_later(found)) return std::nullopt;
    return found;
  }

 private:
  bool only_user(NodeId id, NodeId& user) const {
    const auto uses = users_.of(id);
    if (uses.size() != 1) return false;
    user = uses[0];
    return true;
  }

  // One wait; the program may return the result besides, as it does with what its backward needs.
  bool find_wait(RowScatter& found) const {
    for (const NodeId user : users_.of(found.scatter)) {
      if (graph_.node(user).kind == NodeKind::output) continue;
      if (found.wait.valid() || !graph_.node(user).wait_of.valid()) return false;
      found.wait = user;
    }
    return found.wait.valid();
  }

  // All parts of one split along dimension 1, in their order, put behind each other along dimension 0.
  bool find_parts(RowScatter& found) const {
    const auto args = graph_.args(found.cat);
    if (args.empty() || !args[0].is(ArgKind::list)) return false;
    if (args.size() > 1 && !(args[1].is(ArgKind::integer) && args[1].as_integer() == 0)) return false;
    std::int64_t index = 0;
    for (const Arg& arg : graph_.pool().elements(args[0])) {
      if (!arg.is(ArgKind::value) || !is_getitem(graph_, arg.as_node())) return false;
      const NodeId part = arg.as_node();
      const auto call = graph_.args(part);
      NodeId user;
      if (call.size() != 2 || !call[1].is(ArgKind::integer) || call[1].as_integer() != index++ ||
          !only_user(part, user))
        return false;
      if (found.split.valid() && found.split != call[0].as_node()) return false;
      found.split = call[0].as_node();
      found.parts.push_back(part);
    }
    if (!found.split.valid() || !is_op(graph_, found.split, "aten.split.Tensor")) return false;
    const auto split = graph_.args(found.split);
    if (split.size() != 3 || !split[2].is(ArgKind::integer) || split[2].as_integer() != 1) return false;
    found.source = split[0].as_node();
    return users_.of(found.split).size() == found.parts.size() &&
           graph_.outputs(found.split).size() == found.parts.size();
  }

  bool rows_fit(RowScatter& found) const {
    const Collective& collective = *graph_.collective(found.scatter);
    const TypeView type = graph_.type(graph_.outputs(found.source)[0]);
    if (!is_contiguous(type) || type.shape.size() < 2) return false;
    const auto ranks = static_cast<std::int64_t>(graph_.group(collective.group).ranks.size());
    found.rows = type.shape[0].value();
    return found.rows > 1 && found.rows <= most_rows_ && static_cast<std::int64_t>(found.parts.size()) == ranks &&
           type.shape[1].value() % ranks == 0;
  }

  // The collective would read what somebody writes after the copy was made.
  bool written_later(const RowScatter& found) const {
    const NodeId write = last_write_[graph_.outputs(found.source)[0].storage.index()];
    return write.valid() && write > found.cat;
  }

  const Graph& graph_;
  Users users_;
  std::int64_t most_rows_;
  std::vector<NodeId> last_write_;  // by storage
};

// Writes the collective on the rows at the place of the old one; answers the rows of its result.
std::vector<NodeId> write_scatter(const Graph& graph, const RowScatter& found, NodeWriter& writer) {
  std::vector<ArgInit> rows;
  for (std::int64_t row = 0; row < found.rows; ++row)
    rows.emplace_back(
        writer.op("aten.select.int", {writer.now(found.source), std::int64_t{0}, row}, "row", static_cast<int>(row)));
  std::vector<ArgInit> call = {ArgInit(std::move(rows))};
  const auto args = graph.args(found.scatter);
  for (std::size_t i = 1; i < args.size(); ++i) call.push_back(NodeWriter::same(args[i]));
  const NodeId fused = writer.op("_c10d_functional.reduce_scatter_tensor_coalesced", call, "scatter");
  std::vector<NodeId> results;
  for (std::int64_t row = 0; row < found.rows; ++row)
    results.push_back(writer.getitem(fused, static_cast<std::size_t>(row), "part"));
  return results;
}

NodeId write_result(const std::vector<NodeId>& results, NodeWriter& writer) {
  std::vector<ArgInit> rows;
  for (std::size_t row = 0; row < results.size(); ++row) {
    const NodeId wait = writer.wait(results[row], static_cast<int>(row));
    rows.emplace_back(writer.op("aten.unsqueeze", {wait, std::int64_t{0}}, "batch", static_cast<int>(row)));
  }
  return writer.op("aten.cat", {ArgInit(std::move(rows))}, "result");
}

}  // namespace

Result<RewriteResult> scatter_rows(const Graph& graph, const ScatterRowsOptions& options) {
  const Matcher matcher(graph, options.most_rows);
  std::vector<RowScatter> list;
  for (std::size_t i = 0; i < graph.size(); ++i) {
    if (auto found = matcher.match(NodeId(i))) list.push_back(std::move(*found));
  }
  RewriteResult result;
  result.report = fmt::format("{} reduce_scatters that take rows as they lie", list.size());
  if (list.empty()) return result;
  enum class Fate : std::uint8_t { stays, goes, scatter, wait };
  std::vector<std::pair<Fate, std::size_t>> fate(graph.size(), {Fate::stays, 0});
  GraphRewriter rewriter(graph);
  std::vector<NodeWriter> writers;
  for (std::size_t k = 0; k < list.size(); ++k) {
    for (const NodeId part : list[k].parts) fate[part.index()] = {Fate::goes, k};
    fate[list[k].split.index()] = fate[list[k].cat.index()] = {Fate::goes, k};
    fate[list[k].scatter.index()] = {Fate::scatter, k};
    fate[list[k].wait.index()] = {Fate::wait, k};
    writers.emplace_back(rewriter, options.cost, fmt::format("rows_{}", k));
  }
  std::vector<std::vector<NodeId>> results(list.size());
  for (std::size_t i = 0; i < graph.size(); ++i) {
    const auto [what, k] = fate[i];
    switch (what) {
      case Fate::stays: rewriter.copy(NodeId(i)); break;
      case Fate::goes: break;
      case Fate::scatter: results[k] = write_scatter(graph, list[k], writers[k]); break;
      case Fate::wait: {
        const NodeId whole = write_result(results[k], writers[k]);
        rewriter.replace(NodeId(i), whole);
        rewriter.replace(list[k].scatter, whole);
        break;
      }
    }
  }
  HOCKET_TRY(result.graph, rewriter.finish());
  return result;
}

}  // namespace hocket
