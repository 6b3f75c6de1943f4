// The passes of room `schedule`, for graphs and programs alike.
#pragma once

#include <vector>

#include "hocket/compile/pass.h"

namespace hocket {

std::vector<Pass> schedule_passes();

}  // namespace hocket
