// Ranks as threads: each has its world, and leaves it when its body is done.
#pragma once

#include <functional>
#include <thread>
#include <vector>

#include "hocket/comm/world.h"

namespace hocket {

inline void each_in_a_thread(std::vector<World> worlds, const std::function<void(World&)>& body) {
  std::vector<std::thread> threads;
  for (World& world : worlds) threads.emplace_back([&body, mine = std::move(world)]() mutable { body(mine); });
  worlds.clear();
  for (std::thread& thread : threads) thread.join();
}

}  // namespace hocket
