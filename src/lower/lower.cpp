#include "hocket/lower/lower.h"

#include <algorithm>

#include "hocket/lower/emitter.h"
#include "lower/collectives.h"

namespace hocket {

namespace {

// A view, a getitem: it only names another part of a buffer.
bool only_names_a_place(const Graph& graph, NodeId node) {
  const OpSpec* spec = graph.op_spec(node);
  const auto outputs = graph.outputs(node);
  if (spec == nullptr || outputs.empty() || !graph.mutates(node).empty()) return false;
  const Effects& effects = spec->effects;
  if (effects.mutates != 0 || effects.mutates_out || effects.comm || effects.waits || effects.side_effect ||
      effects.opaque)
    return false;
  return std::none_of(outputs.begin(), outputs.end(),
                      [&](const Output& output) { return graph.storage(output.storage).allocated_by == node; });
}

// A collective that no lowering knows: nothing is known about what its tensors need.
void report_unknown(Emitter& emit, NodeId node) {
  const StepId step(emit.program().size() - 1);
  LoweredCollective lowered{node, step, ReduceAlgorithm::pipelined, AlgorithmReason::no_kernel, {}};
  const Collective* collective = emit.graph().collective(node);
  const auto reason =
      collective->kind == CollectiveKind::p2p ? OrdinaryReason::point_to_point : OrdinaryReason::unknown_operator;
  for (const auto list : {emit.program().reads(step), emit.program().writes(step)}) {
    for (const OperandId operand : list) lowered.buffers.push_back({emit.program().operand(operand).buffer, reason});
  }
  emit.report().collectives.push_back(std::move(lowered));
}

Status lower_node(Emitter& emit, NodeId node, const LoweringRegistry& registry) {
  const Graph& graph = emit.graph();
  emit.follow_view(node);
  if (const Lowering* lowering = registry.find(graph.op_name(node))) return lowering->run(emit, node);
  if (only_names_a_place(graph, node)) {
    ++emit.report().vanished;
    return {};
  }
  HOCKET_CHECK(emit.ordinary(node));
  if (graph.collective(node) != nullptr) report_unknown(emit, node);
  return {};
}

// Symmetric memory of one group is no place for what another communicates. Where a collective can't have a copy of its own,
// since nothing is known about it or its group has no symmetric memory, all others do without.
void keep_ordinary_tensors(Emitter& emit, const LoweringRegistry& registry) {
  const Graph& graph = emit.graph();
  for (std::size_t i = 0; i < graph.size(); ++i) {
    const NodeId node(i);
    const Collective* collective = graph.collective(node);
    if (collective == nullptr) continue;
    const auto& ordinary = emit.options().ordinary_groups;
    const std::string& group = graph.group(collective->group).name;
    if (collective->kind == CollectiveKind::p2p) emit.keep_ordinary(node, OrdinaryReason::point_to_point);
    else if (sizes_may_differ(graph, node)) emit.keep_ordinary(node, OrdinaryReason::uneven_parts);
    else if (registry.find(graph.op_name(node)) == nullptr) emit.keep_ordinary(node, OrdinaryReason::unknown_operator);
    else if (std::find(ordinary.begin(), ordinary.end(), group) != ordinary.end())
      emit.keep_ordinary(node, OrdinaryReason::no_symmetric);
  }
}

Status check_order(const Graph& graph, NodeId node) {
  for (const NodeId input : graph.inputs(node)) {
    if (input >= node)
      return fail(ErrorKind::input, "uses {} before it is defined; verify the graph first", graph.name(input));
  }
  return {};
}

}  // namespace

Result<Lowered> lower(const Graph& graph, const LowerOptions& options, const LoweringRegistry& registry) {
  Emitter emit(graph, options);
  keep_ordinary_tensors(emit, registry);
  emit.add_inputs();
  for (std::size_t i = 0; i < graph.size(); ++i) {
    const NodeId node(i);
    Status status = check_order(graph, node);
    if (status && graph.node(node).kind == NodeKind::op) status = lower_node(emit, node, registry);
    if (!status) return fail(at(std::move(status).error(), fmt::format("node {}", graph.name(node))));
    if (graph.node(node).kind == NodeKind::output) emit.add_results(node);
  }
  return emit.finish();
}

}  // namespace hocket
