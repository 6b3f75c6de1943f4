#include "hocket/fuse/late_divisions.h"

#include <cmath>
#include <map>

#include "fuse/ddp_filter.h"
#include "fuse/node_writer.h"
#include "hocket/ir/users.h"
#include "ir/node_facts.h"

namespace hocket {

namespace {

using fuse::NodeWriter;

constexpr std::string_view scatter_op = "_c10d_functional.reduce_scatter_tensor.default";

// What is replaced: division -> scatter -> wait.
struct Division {
  NodeId division, scatter, wait;
  bool averages = false;  // by as many as there are ranks
};

bool is_power_of_two(double number) {
  int exponent = 0;
  return number > 0 && std::frexp(number, &exponent) == 0.5;
}

std::optional<Division> division_before(const Graph& graph, const Users& users, NodeId scatter) {
  if (!is_op(graph, scatter, scatter_op) || fuse::reduce_operation(graph, scatter) != "sum") return std::nullopt;
  Division found;
  found.scatter = scatter;
  found.division = graph.args(scatter)[0].as_node();
  const auto divisor = fuse::divisor_of(graph, found.division);
  const auto waits = users.of(scatter);
  if (!divisor || !is_power_of_two(*divisor) || users.of(found.division).size() != 1 || waits.size() != 1 ||
      !graph.node(waits[0]).wait_of.valid())
    return std::nullopt;
  found.wait = waits[0];
  found.averages = *divisor == static_cast<double>(graph.group(graph.collective(scatter)->group).ranks.size());
  const NodeId divided = graph.args(found.division)[0].as_node();
  const TypeView type = graph.type(graph.outputs(found.division)[0]);
  // Sums of f16 are soon too large for it, which is what the division is there for; an average is rounded once, when it is divided.
  if (type.dtype == Dtype::f16 && !found.averages) return std::nullopt;
  // The collective reads what is divided from now on, until its wait.
  if (!is_floating(type.dtype) || !same_type(graph.type(graph.outputs(divided)[0]), type) ||
      written_between(graph, divided, found.division, found.wait))
    return std::nullopt;
  return found;
}

NodeId write_scatter(const Graph& graph, const Division& found, NodeWriter& writer) {
  const auto args = graph.args(found.scatter);
  std::vector<ArgInit> call = {writer.now(graph.args(found.division)[0].as_node()),
                               writer.rewriter().builder().string(found.averages ? "avg" : "sum")};
  for (std::size_t i = 2; i < args.size(); ++i) call.push_back(NodeWriter::same(args[i]));
  return writer.op(scatter_op.substr(0, scatter_op.rfind('.')), call, "scatter");
}

// The wait, and the division behind it where the collective does not do it.
NodeId write_result(const Graph& graph, const Division& found, NodeId scatter, NodeWriter& writer) {
  const NodeId wait = writer.wait(scatter);
  if (found.averages) return wait;
  return writer.op("aten.div.Tensor", {wait, NodeWriter::same(graph.args(found.division)[1])}, "division");
}

}  // namespace

Result<RewriteResult> late_divisions(const Graph& graph, const LateDivisionsOptions& options) {
  const Users users(graph);
  std::map<NodeId, Division> by_node;  // by each of its three nodes
  std::size_t count = 0;
  for (std::size_t i = 0; i < graph.size(); ++i) {
    if (graph.collective(NodeId(i)) == nullptr) continue;
    const auto found = division_before(graph, users, NodeId(i));
    if (!found) continue;
    ++count;
    for (const NodeId id : {found->division, found->scatter, found->wait}) by_node.emplace(id, *found);
  }
  RewriteResult result;
  result.report = fmt::format("{} division{} of what a reduce_scatter gives", count, count == 1 ? "" : "s");
  if (by_node.empty()) return result;
  GraphRewriter rewriter(graph);
  for (std::size_t i = 0; i < graph.size(); ++i) {
    const NodeId id(i);
    const auto entry = by_node.find(id);
    if (entry == by_node.end()) {
      rewriter.copy(id);
      continue;
    }
    const Division& found = entry->second;
    NodeWriter writer(rewriter, options.cost, fmt::format("{}_late", graph.name(found.scatter)));
    if (id == found.scatter) rewriter.replace(id, write_scatter(graph, found, writer));
    if (id == found.wait) rewriter.replace(id, write_result(graph, found, rewriter.now(found.scatter), writer));
  }
  HOCKET_TRY(result.graph, rewriter.finish());
  return result;
}

}  // namespace hocket
