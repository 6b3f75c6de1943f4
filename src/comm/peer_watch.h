// Notices that a process of the group has ended, and says how.
//
//   HOCKET_TRY(PeerWatch watch, PeerWatch::create(link, deadline));
//   HOCKET_CHECK(watch.check(peer));   // "rank 3 (pid 4711) was killed by signal 9 (Killed)"
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <vector>

#include "comm/host_link.h"

namespace hocket {

// A pidfd for each rank, sent by the rank itself: it means that process and no later one with the same number.
class PeerWatch {
 public:
  // Collective.
  static Result<PeerWatch> create(HostLink& link, Deadline deadline);

  // An error of kind `peer` if that rank has ended, even if it ended well. One system call; may be called from any thread.
  Status check(std::int32_t rank) const;
  // The process as its own namespace numbers it.
  pid_t pid(std::int32_t rank) const { return peers_[static_cast<std::size_t>(rank)].pid; }

 private:
  struct Peer {
    pid_t pid = 0;
    FileDescriptor process;
  };
  std::vector<Peer> peers_;
};

}  // namespace hocket
