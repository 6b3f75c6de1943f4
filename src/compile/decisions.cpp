#include "compile/decisions.h"

#include "hocket/lower/agreement.h"

namespace hocket {

namespace {

Digest decisions_of(const Graph& graph) {
  Digester digester;
  for (std::size_t i = 0; i < graph.size(); ++i) {
    const NodeId id(i);
    if (graph.node(id).kind != NodeKind::op) continue;
    digester.add(graph.op_name(id));
    const Collective* collective = graph.collective(id);
    if (collective == nullptr) continue;
    digester.add(name_of(collective->kind));
    digester.add(static_cast<std::int64_t>(graph.group(collective->group).ranks.size()));
    digester.add(collective->bytes_in.count).add(collective->bytes_out.count);
  }
  return digester.finish();
}

Digest decisions_of(const Program& program) { return agreement_digest(program); }

}  // namespace

Digest decisions_of(const Subject& subject) {
  return std::visit([](const auto& form) { return decisions_of(form); }, subject);
}

}  // namespace hocket
