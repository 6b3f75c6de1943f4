// Four ranks of a world on two hosts, all threads of this process: 0 and 1 on one host, 2 and 3 on the other.
#pragma once

#include <functional>
#include <thread>
#include <vector>

#include "support/memory_hosts.h"

namespace hocket {

inline void on_two_hosts(const std::function<void(World&)>& body) {
  std::vector<World> worlds = worlds_on_hosts({0, 0, 1, 1}).value();
  std::vector<std::thread> threads;
  for (World& world : worlds) threads.emplace_back([&body, mine = std::move(world)]() mutable { body(mine); });
  for (std::thread& thread : threads) thread.join();
}

}  // namespace hocket
