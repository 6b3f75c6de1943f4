#include "torch/gloo_group.h"

#include <fmt/ranges.h>
#include <torch/csrc/distributed/c10d/PrefixStore.hpp>
#include <torch/csrc/distributed/c10d/TCPStore.hpp>

#include "torch/c10d_port.h"
#include "torch/gloo_backend.h"

namespace hocket {

namespace {

std::chrono::milliseconds until(Deadline deadline) {
  const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now());
  return std::max(left, std::chrono::milliseconds(1));
}

// Programs may have a store at the same place themselves: they share it, under names of their own.
c10::intrusive_ptr<c10d::Store> open_store(const LaunchInfo& launch, const LaunchVariables& variables,
                                           Deadline deadline) {
  c10d::TCPStoreOptions options;
  options.port = *launch.master_port;
  options.isServer = launch.rank == 0 && variables.torchelastic_store != "True";
  options.waitWorkers = false;  // it would not say who is missing
  options.multiTenant = true;
  options.timeout = until(deadline);
  const auto store = c10::make_intrusive<c10d::TCPStore>(launch.master_addr, options);
  return c10::make_intrusive<c10d::PrefixStore>("hocket/" + variables.torchelastic_restart, store);
}

std::string sign_of(std::int32_t rank) { return fmt::format("rank {} is here", rank); }

// All ranks leave a sign. The names of those who don't, otherwise.
Status meet_at(c10d::Store& store, const LaunchInfo& launch, Deadline deadline) {
  store.set(sign_of(launch.rank), std::vector<std::uint8_t>{1});
  std::vector<std::int32_t> missing;
  for (std::int32_t rank = 0; rank < launch.world_size; ++rank) {
    try {
      store.wait({sign_of(rank)}, until(deadline));
    } catch (const std::exception&) {
      missing.push_back(rank);
    }
  }
  if (missing.empty()) return {};
  return fail(ErrorKind::peer, "of {} ranks these have not come in time to {}, port {}: {}", launch.world_size,
              launch.master_addr, *launch.master_port, fmt::join(missing, ", "));
}

}  // namespace

Result<c10::intrusive_ptr<c10d::ProcessGroup>> make_gloo_group(const LaunchInfo& launch,
                                                               const LaunchVariables& variables, Deadline deadline) {
  if (!launch.master_port) {
    return fail(
        ErrorKind::usage,
        "ranks on several hosts meet at MASTER_ADDR and MASTER_PORT, which are not set: set them to the host of "
        "rank 0 and a port that is free there, the same on all ranks");
  }
  try {
    const c10::intrusive_ptr<c10d::Store> store = open_store(launch, variables, deadline);
    HOCKET_CHECK(meet_at(*store, launch, deadline));
    auto group = c10::make_intrusive<c10d::ProcessGroup>(store, launch.rank, launch.world_size);
    group->setBackend(c10::DeviceType::CPU, c10d::ProcessGroup::BackendType::GLOO,
                      make_gloo_backend(store, launch.rank, launch.world_size, until(deadline)));
    return group;
  } catch (const std::exception& thrown) {
    return fail(ErrorKind::peer,
                "rank {} can't reach the other ranks through {}, port {}: {}; GLOO_SOCKET_IFNAME says which network "
                "interface gloo takes",
                launch.rank, launch.master_addr, *launch.master_port, short_words(thrown));
  }
}

}  // namespace hocket
