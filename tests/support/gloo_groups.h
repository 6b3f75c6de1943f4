// Process groups of gloo whose ranks are threads of one process.
#pragma once

#include <torch/csrc/distributed/c10d/HashStore.hpp>
#include <torch/csrc/distributed/c10d/ProcessGroup.hpp>

#include <thread>
#include <vector>

#include "torch/gloo_backend.h"

namespace hocket {

using GroupPointer = c10::intrusive_ptr<c10d::ProcessGroup>;

inline GroupPointer gloo_group(const c10::intrusive_ptr<c10d::Store>& store, int rank, int size) {
  auto group = c10::make_intrusive<c10d::ProcessGroup>(store, rank, size);
  group->setBackend(c10::DeviceType::CPU, c10d::ProcessGroup::BackendType::GLOO,
                    make_gloo_backend(store, rank, size, std::chrono::seconds(30)));
  return group;
}

inline std::vector<GroupPointer> gloo_groups(int ranks) {
  const auto store = c10::make_intrusive<c10d::HashStore>();
  std::vector<GroupPointer> groups(static_cast<std::size_t>(ranks));
  std::vector<std::thread> threads;
  for (int rank = 0; rank < ranks; ++rank) {
    threads.emplace_back([&, rank] { groups[static_cast<std::size_t>(rank)] = gloo_group(store, rank, ranks); });
  }
  for (std::thread& thread : threads) thread.join();
  return groups;
}

}  // namespace hocket
