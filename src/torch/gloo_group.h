// A process group of gloo for all ranks that torchrun has started, or whoever set its variables.
#pragma once

#include <torch/csrc/distributed/c10d/ProcessGroup.hpp>

#include "comm/deadline.h"
#include "hocket/comm/launch_info.h"

namespace hocket {

// Collective over all ranks. Rank 0 keeps the store, at MASTER_ADDR and MASTER_PORT, unless torchrun itself does.
Result<c10::intrusive_ptr<c10d::ProcessGroup>> make_gloo_group(const LaunchInfo& launch,
                                                               const LaunchVariables& variables, Deadline deadline);

}  // namespace hocket
