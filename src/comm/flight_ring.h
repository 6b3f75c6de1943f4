// The last calls of one group and one rank, in shared memory: the other ranks can read what a rank did last, also after it died.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>

#include "comm/call.h"

namespace hocket {

struct FlightRecord {
  CallFacts call;
  std::uint64_t started;   // ticks()
  std::uint64_t finished;  // 0: not yet
};

// A counter that is fast to read and goes on at the same rate for all ranks of a host.
inline std::uint64_t ticks() {
#if defined(__x86_64__)
  return __builtin_ia32_rdtsc();
#else
  return static_cast<std::uint64_t>(std::chrono::steady_clock::now().time_since_epoch().count());
#endif
}
double ticks_per_second();

// Zeroed memory is an empty ring. Written by one thread at a time of its owner; read by anyone at any time. A reader may get a
// record while it is overwritten 1,024 calls later; it shows in the number.
class FlightRing {
 public:
  static constexpr std::uint64_t size = 1024;

  void begin(const GroupCall& call, CollectiveAlgorithm used);
  void finish(std::uint64_t number);

  std::uint64_t begun() const { return begun_.load(std::memory_order_acquire); }
  std::uint64_t finished() const { return finished_.load(std::memory_order_acquire); }
  FlightRecord read(std::uint64_t number) const;
  std::string file_of(const FlightRecord& record) const;
  // "all_reduce(f32[1024], sum) as call 7 at train.cpp:31"
  std::string describe(std::uint64_t number) const;

 private:
  static constexpr std::size_t words = 8;  // one cache line
  static_assert(sizeof(FlightRecord) == words * sizeof(std::uint64_t));
  using Words = std::array<std::atomic<std::uint64_t>, words>;  // reading and writing at once is no undefined behaviour

  // Names of source files, each written once.
  static constexpr std::uint16_t most_files = 63;
  struct Name {
    std::atomic<std::uint32_t> ready;
    char text[60];
  };

  std::uint16_t index_of(const GroupCall& call);

  std::atomic<std::uint64_t> begun_;     // number of the last call
  std::atomic<std::uint64_t> finished_;  // number of the last call that is complete
  const char* last_file_;  // an address of the owner: most calls come from the same file as the one before
  std::uint16_t last_index_;
  Name files_[most_files + 1];  // the last stands for all that found no place
  alignas(64) Words records_[size];
};

}  // namespace hocket
