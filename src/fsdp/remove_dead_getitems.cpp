#include "hocket/fsdp/remove_dead_getitems.h"

#include <algorithm>

#include "hocket/ir/users.h"
#include "ir/node_facts.h"

namespace hocket {

Result<RewriteResult> remove_dead_getitems(const Graph& graph, const RemoveDeadGetitemsOptions&) {
  const Users users(graph);
  std::vector<bool> dead(graph.size(), false);
  std::size_t count = 0;
  for (std::size_t i = graph.size(); i-- > 0;) {  // backwards: a getitem may be used by dead ones only
    const NodeId id(i);
    if (!is_getitem(graph, id)) continue;
    const auto uses = users.of(id);
    dead[i] = std::all_of(uses.begin(), uses.end(), [&](NodeId use) { return dead[use.index()]; });
    count += dead[i] ? 1 : 0;
  }
  RewriteResult result;
  result.report = fmt::format("removed {} getitem{} that nobody uses", count, count == 1 ? "" : "s");
  if (count == 0) return result;
  GraphRewriter rewriter(graph);
  for (std::size_t i = 0; i < graph.size(); ++i) {
    if (!dead[i]) rewriter.copy(NodeId(i));
  }
  HOCKET_TRY(result.graph, rewriter.finish());
  return result;
}

}  // namespace hocket
