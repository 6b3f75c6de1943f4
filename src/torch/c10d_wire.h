// The Wire over a c10d process group: gloo, or any other that sends tensors of CPU memory with tags and receives from any rank.
#pragma once

#include <torch/csrc/distributed/c10d/ProcessGroup.hpp>

#include "comm/wire.h"

namespace hocket {

enum class GroupUse {
  alone,   // nobody else has the group: its connections end with the wire
  shared,  // the program uses it, too, and goes on
};

// Collective over all ranks of the group.
Result<std::unique_ptr<Wire>> make_c10d_wire(const c10::intrusive_ptr<c10d::ProcessGroup>& group, GroupUse use,
                                             Deadline deadline);

}  // namespace hocket
