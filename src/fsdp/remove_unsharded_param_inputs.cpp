#include "hocket/fsdp/remove_unsharded_param_inputs.h"

#include <map>

#include "fsdp/unsharded_param.h"

namespace hocket {

namespace {

using fsdp::Accesses;
using fsdp::Round;
using fsdp::UnshardedParam;

// Inputs that are resized or filled.
std::vector<NodeId> unsharded_inputs(const Graph& graph, const Accesses& accesses) {
  std::vector<NodeId> inputs;
  for (std::size_t i = 0; i < graph.size(); ++i) {
    const NodeId id(i);
    if (graph.node(id).kind != NodeKind::input || graph.outputs(id).size() != 1) continue;
    bool is_param = false;
    for (const NodeId write : accesses.writing[graph.outputs(id)[0].storage.index()])
      is_param = is_param || fsdp::is_resize(graph, write) || fsdp::is_fsdp_copy(graph, write);
    if (is_param) inputs.push_back(id);
  }
  return inputs;
}

// What happens at a node that goes: the parameter stands for something else from there on.
struct Switch {
  NodeId param;
  NodeId to;  // the gathered value, or the parameter itself
};

std::map<NodeId, Switch> switches_of(const std::vector<UnshardedParam>& params) {
  std::map<NodeId, Switch> switches;
  for (const UnshardedParam& param : params) {
    for (const Round& round : param.rounds) {
      switches[round.resize_to_full] = {param.input, param.input};
      switches[round.copy] = {param.input, round.gathered};
      switches[round.resize_to_zero] = {param.input, param.input};
    }
  }
  return switches;
}

Result<Graph> without_rounds(const Graph& graph, const std::vector<UnshardedParam>& params) {
  const std::map<NodeId, Switch> switches = switches_of(params);
  std::map<NodeId, NodeId> copies;  // of the parameters
  GraphRewriter rewriter(graph);
  for (const UnshardedParam& param : params) copies[param.input] = NodeId::none();
  for (std::size_t i = 0; i < graph.size(); ++i) {
    const NodeId id(i);
    const auto at = switches.find(id);
    if (at == switches.end()) {
      const NodeId copied = rewriter.copy(id);
      if (const auto param = copies.find(id); param != copies.end()) param->second = copied;
    } else {
      const Switch& change = at->second;
      rewriter.replace(change.param, change.to == change.param ? copies[change.param] : rewriter.now(change.to));
    }
  }
  return rewriter.finish();
}

}  // namespace

Result<RewriteResult> remove_unsharded_param_inputs(const Graph& graph, const RemoveUnshardedParamInputsOptions&) {
  const Accesses accesses(graph);
  const std::vector<NodeId> inputs = unsharded_inputs(graph, accesses);
  RewriteResult result;
  std::vector<UnshardedParam> params;
  std::size_t rounds = 0;
  for (const NodeId input : inputs) {
    Result<UnshardedParam> param = fsdp::unsharded_param(graph, accesses, input);
    if (!param) {
      result.notes.push_back(fmt::format("{}: {}", graph.name(input), param.error().message));
      continue;
    }
    rounds += param->rounds.size();
    params.push_back(std::move(*param));
  }
  result.report = fmt::format("{} of {} unsharded parameters use the gathered value directly ({} fewer cop{})",
                              params.size(), inputs.size(), rounds, rounds == 1 ? "y" : "ies");
  if (!params.empty()) {
    HOCKET_TRY(result.graph, without_rounds(graph, params));
  }
  return result;
}

}  // namespace hocket
