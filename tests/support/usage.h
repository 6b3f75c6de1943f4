// What this process has of the system's resources.
//
//   const Usage before = usage();
//   …
//   EXPECT_EQ(growth(before, usage()), "");
#pragma once

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>

#include "base/sanitizers.h"

namespace hocket {

struct Usage {
  std::int64_t memory = 0;  // resident bytes
  std::int64_t descriptors = 0;
  std::int64_t threads = 0;
  std::int64_t mappings = 0;
};

inline std::int64_t entries_of(const char* folder) {
  const std::filesystem::directory_iterator entries(folder);
  return std::distance(begin(entries), end(entries));
}

inline Usage usage() {
  Usage now;
  std::ifstream pages("/proc/self/statm");
  std::int64_t all = 0;
  pages >> all >> now.memory;
  now.memory *= 4096;
  now.descriptors = entries_of("/proc/self/fd");
  now.threads = entries_of("/proc/self/task");
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) ++now.mappings;
  return now;
}

// What has grown, in words; empty if nothing has. Memory and mappings may grow a little: arenas of malloc, stacks that are touched for
// the first time.
inline std::string growth(const Usage& before, const Usage& after, std::int64_t noise = std::int64_t{4} << 20) {
  constexpr std::int64_t few_mappings = 8;
  const auto says = [](const char* what, std::int64_t is, std::int64_t was) {
    return std::to_string(is) + " " + what + ", " + std::to_string(was) + " before; ";
  };
  std::string text;
  // AddressSanitizer keeps what was freed for a while.
  if (!under_address_sanitizer && after.memory > before.memory + noise)
    text += says("bytes", after.memory, before.memory);
  if (after.descriptors > before.descriptors) text += says("descriptors", after.descriptors, before.descriptors);
  if (after.mappings > before.mappings + few_mappings) text += says("mappings", after.mappings, before.mappings);
  if (after.threads > before.threads) text += says("threads", after.threads, before.threads);
  return text;
}

}  // namespace hocket
