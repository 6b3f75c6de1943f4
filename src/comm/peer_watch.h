// Notices that a process of the group has ended, and says how.
//
//   HOCKET_TRY(PeerWatch watch, PeerWatch::create(link, ranks, deadline));
//   HOCKET_CHECK(watch.check(peer));   // "rank 3 (pid 4711) was killed by signal 9 (Killed)"
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <vector>

#include "comm/host_link.h"
#include "hocket/comm/mesh.h"

namespace hocket {

// A pidfd for each rank, sent by the rank itself: it means that process and no later one with the same number.
class PeerWatch {
 public:
  // Collective over the link; messages call its ranks by these numbers of the world.
  static Result<PeerWatch> create(HostLink& link, const Ranks& ranks, Deadline deadline);

  // An error of kind `peer` if that rank has ended, even if it ended well. One system call; may be called from any thread.
  Status check(std::int32_t index) const;
  // The same, unless it ended with code 0 or nobody knows how.
  Status check_crash(std::int32_t index) const;
  // The process as its own namespace numbers it.
  pid_t pid(std::int32_t index) const { return peers_[static_cast<std::size_t>(index)].pid; }

 private:
  struct Peer {
    std::int32_t rank = 0;
    pid_t pid = 0;
    FileDescriptor process;

    bool has_ended() const;
    tl::unexpected<Error> ended(std::optional<int> status) const;
  };
  std::vector<Peer> peers_;
};

}  // namespace hocket
