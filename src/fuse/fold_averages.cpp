#include "hocket/fuse/fold_averages.h"

#include <bit>
#include <map>
#include <set>

#include "fuse/ddp_filter.h"
#include "fuse/node_writer.h"
#include "ir/node_facts.h"

namespace hocket {

namespace {

// Why a sum of quotients is no average that can be folded.
Status check_average(const Graph& graph, const fuse::GradientAverage& average) {
  const auto ranks = static_cast<std::uint64_t>(graph.group(average.kind.group).ranks.size());
  if (average.kind.divisor != static_cast<double>(ranks)) {
    return fail(ErrorKind::input, "it divides by {} and has {} ranks", average.kind.divisor, ranks);
  }
  if (!std::has_single_bit(ranks)) return fail(ErrorKind::input, "{} ranks are no power of two", ranks);
  if (average.kind.reduced != average.kind.gradient) return fail(ErrorKind::input, "the division changes the dtype");
  if (!is_floating(average.kind.reduced)) return fail(ErrorKind::input, "it has no floating dtype");
  const NodeId gradient = graph.args(average.anchor())[0].as_node();
  if (written_between(graph, gradient, average.anchor(), average.block.wait()))
    return fail(ErrorKind::input, "{} is written before the wait", graph.name(gradient));
  return {};
}

Result<Graph> folded(const Graph& graph, const std::map<NodeId, NodeId>& gradient_of, const std::set<NodeId>& goes,
                     const CostModel* cost) {
  GraphRewriter rewriter(graph);
  for (std::size_t i = 0; i < graph.size(); ++i) {
    const NodeId id(i);
    if (goes.contains(id)) continue;
    const auto found = gradient_of.find(id);
    if (found == gradient_of.end()) {
      rewriter.copy(id);
      continue;
    }
    const GroupId group = graph.collective(id)->group;
    const NodeId made =
        fuse::NodeWriter(rewriter, cost, std::string(graph.name(id)))
            .op("_c10d_functional.all_reduce",
                {rewriter.now(found->second), rewriter.builder().string("avg"), Arg::group(group)}, "avg");
    if (const std::int64_t time = graph.node(id).measured.picoseconds; time >= 0 && cost == nullptr) {
      rewriter.set_time(made, Nanoseconds::from_picoseconds(time));
    }
    rewriter.replace(id, made);
  }
  return rewriter.finish();
}

}  // namespace

Result<RewriteResult> fold_averages(const Graph& graph, const FoldAveragesOptions& options) {
  const Users users(graph);
  std::map<NodeId, NodeId> gradient_of;  // by collective
  std::set<NodeId> goes;
  RewriteResult result;
  for (std::size_t i = 0; i < graph.size(); ++i) {
    const NodeId id(i);
    if (graph.collective(id) == nullptr || !graph.op_name(id).starts_with("_c10d_functional.all_reduce")) continue;
    if (fuse::reduce_operation(graph, id) != "sum") continue;
    const auto average = fuse::gradient_average(graph, users, id);
    const Status fits = average ? check_average(graph, *average) : fail(average.error());
    if (!fits) {
      result.notes.push_back(fmt::format("{}: {}", graph.name(id), fits.error().message));
      continue;
    }
    gradient_of[id] = graph.args(average->anchor())[0].as_node();
    goes.insert(average->anchor());
  }
  result.report =
      fmt::format("{} division{} done by the all_reduce", gradient_of.size(), gradient_of.size() == 1 ? "" : "s");
  if (!gradient_of.empty()) {
    HOCKET_TRY(result.graph, folded(graph, gradient_of, goes, options.cost));
  }
  return result;
}

}  // namespace hocket
