#include "hocket/lower/registry.h"

#include "hocket/lower/emitter.h"
#include "lower/collectives.h"

namespace hocket {

namespace {

// A view whose elements are conjugated or negated when they are read. A place in a buffer can't say that, so it is computed
// into a buffer of its own.
Status lower_lazy_view(Emitter& emit, NodeId node, std::string_view eager_op) {
  const Graph& graph = emit.graph();
  const bool conjugates = eager_op == "aten.conj_physical.default";
  const auto outputs = graph.outputs(node);
  if (outputs.size() != 1) return fail(ErrorKind::input, "{} has {} results, expected one", eager_op, outputs.size());
  if (conjugates && !is_complex(graph.type(outputs[0]).dtype)) {
    ++emit.report().vanished;  // of a real number it is the number itself
    return {};
  }
  const std::vector<Arg> args = emit.arguments(node);
  const auto own = emit.detach(node);
  if (!own) {
    return fail(ErrorKind::input, "{} gives a view of memory that the program writes; capture it with {} instead",
                graph.op_name(node), eager_op);
  }
  emit.step(node, eager_op, args, {}, {&*own, 1});
  return {};
}

void add_lazy_view(LoweringRegistry& registry, std::string op, std::string eager_op) {
  registry.set({std::move(op), "into a buffer of its own, by " + eager_op,
                [eager_op](Emitter& emit, NodeId node) { return lower_lazy_view(emit, node, eager_op); }});
}

LoweringRegistry make_builtin() {
  LoweringRegistry registry;
  add_all_reduce_lowerings(registry);
  add_collective_lowerings(registry);
  add_lazy_view(registry, "aten._conj.default", "aten.conj_physical.default");
  add_lazy_view(registry, "prims.conj.default", "aten.conj_physical.default");
  add_lazy_view(registry, "aten._neg_view.default", "aten.neg.default");
  return registry;
}

}  // namespace

const LoweringRegistry& LoweringRegistry::builtin() {
  static const LoweringRegistry registry = make_builtin();
  return registry;
}

void LoweringRegistry::set(Lowering lowering) {
  std::string op = lowering.op;
  rows_.insert_or_assign(std::move(op), std::move(lowering));
}

const Lowering* LoweringRegistry::find(std::string_view op) const {
  const auto found = rows_.find(op);
  return found == rows_.end() ? nullptr : &found->second;
}

}  // namespace hocket
