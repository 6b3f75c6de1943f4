// A world over a process group that the program already has.
//
//   auto group = c10::make_intrusive<c10d::ProcessGroup>(store, rank, size);   // with gloo for CPU memory
//   HOCKET_TRY(World world, join_over(group));
//
// World::join() needs none: in a program that torchrun has started on several hosts, and that is linked with this library, it makes
// a store and a group of gloo by itself.
#pragma once

#include <torch/csrc/distributed/c10d/ProcessGroup.hpp>

#include "hocket/comm/world.h"

namespace hocket {

// Collective over all ranks of the group, each on a rank of its own. Ranks of one host share memory, as ever; what goes from host
// to host goes through the group, which has to have a back end for CPU memory: "gloo", or "cpu:gloo,cuda:nccl". The program may go on
// using it; tags of its messages from 1073741824 (1 << 30) on are hocket's.
Result<World> join_over(const c10::intrusive_ptr<c10d::ProcessGroup>& group, WorldOptions options = {});

}  // namespace hocket
