// What can be wrong with a call by itself.
#pragma once

#include "comm/call.h"

namespace hocket {

// An error of kind `usage` that says what was got and what was expected. Sets call.count.
Status check_and_count(GroupCall& call, const RankGroup& group);

}  // namespace hocket
