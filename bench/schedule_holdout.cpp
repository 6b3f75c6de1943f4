#include "schedule_holdout.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>

#include "hocket/base/digest.h"
#include "hocket/base/progress.h"
#include "hocket/compile/overlap_bound.h"
#include "hocket/ir/file.h"
#include "hocket/ir/rewrite.h"

namespace hocket {

namespace {

constexpr double part_kept = 0.7;  // of the nodes: the forward pass and some of the backward pass

// Every operator slower or faster by a factor of its own, between one half and two: the same for all layers.
Result<Graph> with_other_kernels(const Graph& graph) {
  GraphRewriter rewriter(graph);
  for (std::size_t i = 0; i < graph.size(); ++i) {
    const NodeId id(i);
    const NodeId copy = rewriter.copy(id);
    const auto time = graph.estimate(id);
    if (!time || graph.node(id).kind != NodeKind::op || graph.collective(id) != nullptr) continue;
    const std::uint64_t number = Digester().add(graph.op_name(id)).finish().low;
    const double factor = std::exp2(static_cast<double>(number % 2001) / 1000 - 1);
    rewriter.set_time(copy, Nanoseconds::from_picoseconds(
                                static_cast<std::int64_t>(factor * static_cast<double>(time->picoseconds))));
  }
  return rewriter.finish();
}

// The program up to a node: what is needed behind it is returned. The end is put where nothing is in flight.
Result<Graph> first_part(const Graph& graph) {
  const auto wanted = static_cast<std::size_t>(part_kept * static_cast<double>(graph.size()));
  std::vector<std::size_t> last_use(graph.size(), 0);
  for (std::size_t i = 0; i < graph.size(); ++i) {
    for (const NodeId input : graph.inputs(NodeId(i))) last_use[input.index()] = i;
    if (const NodeId collective = graph.node(NodeId(i)).wait_of; collective.valid()) last_use[collective.index()] = i;
  }
  std::size_t end = 0;
  std::size_t busy_until = 0;
  for (std::size_t i = 0; i + 1 < graph.size() && end < wanted; ++i) {
    if (graph.collective(NodeId(i)) != nullptr || graph.outputs(NodeId(i)).size() != 1)
      busy_until = std::max(busy_until, last_use[i]);
    if (i >= busy_until) end = i + 1;
  }
  GraphRewriter rewriter(graph);
  std::vector<NodeId> results;
  for (std::size_t i = 0; i < graph.size(); ++i) {
    const NodeKind kind = graph.node(NodeId(i)).kind;
    if (kind == NodeKind::output || (i >= end && kind == NodeKind::op)) continue;
    const NodeId copy = rewriter.copy(NodeId(i));
    if (kind == NodeKind::op && last_use[i] >= end) results.push_back(copy);
  }
  rewriter.builder().output(results);
  return rewriter.finish();
}

struct Variant {
  std::string name;
  double communication = 1;  // times as slow
  std::function<Result<Graph>(const Graph&)> change;
};

const std::vector<Variant>& variants() {
  static const std::vector<Variant> list = {{"as captured", 1, {}},
                                            {"links half as fast", 2, {}},
                                            {"links twice as fast", 0.5, {}},
                                            {"other kernels", 1, with_other_kernels},
                                            {"the first part", 1, first_part}};
  return list;
}

Result<Measures> after(const Graph& graph, const std::string& passes, const CompileOptions& base) {
  CompileOptions options = base;
  HOCKET_TRY(options.passes, parse_passes(passes));
  HOCKET_TRY(const Compiled compiled, compile(graph, options));
  return compiled.after;
}

// Adds one graph's figures; means are sums of logarithms until the end.
Status add_graph(const Graph& captured, const Variant& variant, CompileOptions base, Holdout& sums) {
  base.cost.communication_multiplier = variant.communication;
  std::optional<Graph> changed;
  if (variant.change) {
    HOCKET_TRY(changed, variant.change(captured));
  }
  const Graph& graph = changed ? *changed : captured;
  HOCKET_TRY(const Measures before, measure(graph, CostModel(base.cost)));
  HOCKET_TRY(const StepBound bound, overlap_bound(graph, CostModel(base.cost)));
  double classic = before.step_time.ms();
  for (const std::string& passes : classic_passes) {
    HOCKET_TRY(const Measures reached, after(graph, passes, base));
    classic = std::min(classic, reached.step_time.ms());
  }
  base.verify = true;
  HOCKET_TRY(const Measures ours, after(graph, "overlap", base));
  const double to_classic = ours.step_time.ms() / classic;
  const double to_bound = ours.step_time.ms() / bound.time.ms();
  ++sums.graphs;
  sums.to_classic += std::log(to_classic);
  sums.to_bound += std::log(to_bound);
  sums.worst_to_classic = std::max(sums.worst_to_classic, to_classic);
  sums.worst_to_bound = std::max(sums.worst_to_bound, to_bound);
  if (ours.step_time > before.step_time) ++sums.worse_than_input;
  if (ours.peak > before.peak) ++sums.above_limit;
  return {};
}

}  // namespace

Result<std::vector<Holdout>> measure_holdout(const BenchFlags& flags, const CompileOptions& base,
                                             std::size_t most_nodes) {
  std::vector<Graph> graphs;
  for (const std::string& file : captures_in(flags.captures)) {
    HOCKET_TRY(Graph graph, read_graph(file));
    if (graph.size() <= most_nodes) graphs.push_back(std::move(graph));
  }
  Progress progress("bench schedule --holdout", static_cast<std::int64_t>(graphs.size() * variants().size()));
  std::vector<Holdout> list;
  for (const Variant& variant : variants()) {
    Holdout sums;
    sums.variant = variant.name;
    for (const Graph& graph : graphs) {
      HOCKET_CHECK(add_graph(graph, variant, base, sums));
      progress.advance();
    }
    const double count = std::max(1.0, static_cast<double>(sums.graphs));
    sums.to_classic = std::exp(sums.to_classic / count);
    sums.to_bound = std::exp(sums.to_bound / count);
    list.push_back(std::move(sums));
  }
  return list;
}

std::string markdown_of(const std::vector<Holdout>& list) {
  std::string text =
      "\nPrograms that nothing was tuned on. Step times of overlap at the original peak, against the best classic pass "
      "in "
      "whatever memory and against the lower bound with merging: geometric mean, worst.\n\n"
      "| variant | graphs | to the best classic pass | to the lower bound | worse than the input | above the limit |\n"
      "|---|---|---|---|---|---|\n";
  for (const Holdout& each : list)
    text += fmt::format("| {} | {} | {:.4f}, {:.3f} | {:.4f}, {:.3f} | {} | {} |\n", each.variant, each.graphs,
                        each.to_classic, each.worst_to_classic, each.to_bound, each.worst_to_bound,
                        each.worse_than_input, each.above_limit);
  return text;
}

}  // namespace hocket
