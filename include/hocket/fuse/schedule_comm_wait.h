// The pass schedule_comm_wait: each wait of a communication block, with the tail that only reshapes its result, stands right before
// its first real user. Nothing else moves, and the result is in a valid order.
#pragma once

#include "hocket/ir/rewrite.h"

namespace hocket {

struct ScheduleCommWaitOptions {};

Result<RewriteResult> schedule_comm_wait(const Graph& graph, const ScheduleCommWaitOptions& options = {});

}  // namespace hocket
