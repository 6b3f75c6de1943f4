// The passes `lower` (graph to program) and `plan` (offsets for a program's buffers).
#pragma once

#include <vector>

#include "hocket/compile/pass.h"

namespace hocket {

std::vector<Pass> lower_passes();

}  // namespace hocket
