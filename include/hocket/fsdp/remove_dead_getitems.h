// The pass remove_dead_getitems: drops getitems that nobody uses.
#pragma once

#include "hocket/ir/rewrite.h"

namespace hocket {

struct RemoveDeadGetitemsOptions {};

Result<RewriteResult> remove_dead_getitems(const Graph& graph, const RemoveDeadGetitemsOptions& options = {});

}  // namespace hocket
