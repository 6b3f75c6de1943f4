// The private memory of other processes of the same user, read by the kernel: one copy, where a way through shared memory takes two.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>

namespace hocket {

// Copies `count` bytes at `from` in the memory of that process, which may be this one. Returns 0 or the errno: EPERM where the kernel
// does not allow it, ESRCH where the process has ended.
int read_peer(pid_t pid, const std::byte* from, std::byte* to, std::int64_t count);

// Whether the ranks of a group can read each other's memory: unknown until all have tried.
struct PeerReading {
  enum class Allowed : std::uint8_t { unknown, yes, no };
  Allowed allowed = Allowed::unknown;
  std::uint64_t proof = 0x68'6f'63'6b'65'74'21'21;  // what the others read in order to try
};

}  // namespace hocket
