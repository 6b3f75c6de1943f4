// The passes of the rooms `fuse` and `fsdp`, over graphs.
#pragma once

#include <vector>

#include "hocket/compile/pass.h"

namespace hocket {

std::vector<Pass> fsdp_passes();
std::vector<Pass> fuse_passes();

}  // namespace hocket
