#include "comm/peer_watch.h"

#include <poll.h>
#include <sys/syscall.h>

#include <cerrno>
#include <charconv>
#include <cstring>

#include "comm/exit_status.h"

namespace hocket {

Result<PeerWatch> PeerWatch::create(HostLink& link, Deadline deadline) {
  const pid_t self = getpid();
  const FileDescriptor mine(static_cast<int>(syscall(SYS_pidfd_open, self, 0)));
  if (!mine.valid()) return fail(ErrorKind::system, "can't open a pidfd of this process: {}", std::strerror(errno));
  HOCKET_TRY(std::vector<Packet> all, link.exchange(std::to_string(self), {mine.number()}, deadline));
  PeerWatch watch;
  for (std::size_t rank = 0; rank < all.size(); ++rank) {
    Packet& packet = all[rank];
    Peer peer;
    const char* end = packet.bytes.data() + packet.bytes.size();
    const bool number = std::from_chars(packet.bytes.data(), end, peer.pid).ec == std::errc();
    if (!number || packet.descriptors.size() != 1) {
      return fail(ErrorKind::peer, "rank {} sent \"{}\" and {} descriptors, expected its pid and a pidfd", rank,
                  packet.bytes, packet.descriptors.size());
    }
    peer.process = std::move(packet.descriptors[0]);
    watch.peers_.push_back(std::move(peer));
  }
  return watch;
}

Status PeerWatch::check(std::int32_t rank) const {
  const Peer& peer = peers_[static_cast<std::size_t>(rank)];
  pollfd one{peer.process.number(), POLLIN, 0};  // readable once the process has ended
  if (poll(&one, 1, 0) <= 0) return {};
  return fail(ErrorKind::peer, "rank {} (pid {}) {}", rank, peer.pid,
              describe_exit(exit_status(peer.pid, peer.process)));
}

}  // namespace hocket
