// Four ranks of a world on two hosts, all threads of this process: 0 and 1 on one host, 2 and 3 on the other.
#pragma once

#include <functional>

#include "support/memory_hosts.h"
#include "support/world_threads.h"

namespace hocket {

inline void on_two_hosts(const std::function<void(World&)>& body) {
  each_in_a_thread(worlds_on_hosts({0, 0, 1, 1}).value(), body);
}

}  // namespace hocket
