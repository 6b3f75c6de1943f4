// A world of ranks that have a c10d store in common, whoever started them.
#pragma once

#include <torch/csrc/distributed/c10d/Store.hpp>

#include "hocket/comm/world.h"

namespace hocket {

// Collective over ranks 0 … size-1; no two such calls at a time with one store. Ranks of one host meet in its memory; only if there
// are several hosts, a group of gloo is made for what goes between them. Nothing stays in the store. The new world is the current one.
Result<World> join_at(const c10::intrusive_ptr<c10d::Store>& store, std::int32_t rank, std::int32_t size,
                      WorldOptions options = {});

// How the process was started, if that has to do with these ranks.
LaunchInfo launch_of(std::int32_t rank, std::int32_t size);

}  // namespace hocket
