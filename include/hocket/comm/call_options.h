// What a caller may say about one collective beyond what is communicated.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>

#include "hocket/comm/call_site.h"

namespace hocket {

// All algorithms give the same bits. docs/collectives.md has their steps and bytes.
enum class CollectiveAlgorithm : std::uint8_t {
  automatic,  // by size, number of ranks and what hocket calibrate found
  one_shot,   // everyone copies its input in, and reads the inputs of all
  two_shot,   // everyone reduces one part, and reads the parts of the others
  symmetric,  // no copy: reads and writes the peers' buffers, which lie in symmetric memory
  reading,    // all_to_all of equal parts: the kernel reads the peers' own memory; copies where it does not allow that
};

std::string_view name_of(CollectiveAlgorithm algorithm);

struct CallOptions {
  // The call returns when it is complete: no thread changes, the least latency. Calls of the group that were made before
  // are completed first.
  bool blocking = false;
  // For tests and measurements; a call that it can't serve is an error.
  CollectiveAlgorithm algorithm = CollectiveAlgorithm::automatic;
  std::int64_t block = 0;  // bytes that are handed over at a time; 0: as the algorithm likes it
  double factor = 1.0;     // of premul_sum, the same on all ranks
  std::optional<std::chrono::milliseconds> timeout = std::nullopt;  // the world's, if absent
  // Let go when the communication is complete, before anybody learns of it: for buffers that the caller doesn't keep.
  std::shared_ptr<const void> keep_alive = nullptr;
  // Who calls, for error messages; not compared between ranks. If absent, whoever calls the Communicator: a wrapper says here on
  // whose behalf it does.
  std::optional<CallSite> site = std::nullopt;
};

}  // namespace hocket
