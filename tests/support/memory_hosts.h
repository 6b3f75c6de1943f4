// A world on several hosts in one process: ranks are threads, those of one host share memory of their own, and what goes from host
// to host goes over a MemoryWire.
//
//   Result<std::vector<World>> worlds = worlds_on_hosts({0, 1, 0, 1});
#pragma once

#include <vector>

#include "hocket/comm/world.h"

namespace hocket {

// `hosts` has the number of each rank's host, from 0. A world for each rank.
Result<std::vector<World>> worlds_on_hosts(const std::vector<std::int32_t>& hosts, WorldOptions options = {});

}  // namespace hocket
