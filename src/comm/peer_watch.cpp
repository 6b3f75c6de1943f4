#include "comm/peer_watch.h"

#include <poll.h>
#include <sys/syscall.h>

#include <cerrno>
#include <charconv>
#include <cstring>

#include "comm/exit_status.h"

namespace hocket {

Result<PeerWatch> PeerWatch::create(HostLink& link, const Ranks& ranks, Deadline deadline) {
  const pid_t self = getpid();
  const FileDescriptor mine(static_cast<int>(syscall(SYS_pidfd_open, self, 0)));
  if (!mine.valid()) return fail(ErrorKind::system, "can't open a pidfd of this process: {}", std::strerror(errno));
  HOCKET_TRY(std::vector<Packet> all, link.exchange(std::to_string(self), {mine.number()}, deadline));
  PeerWatch watch;
  for (std::size_t index = 0; index < all.size(); ++index) {
    Packet& packet = all[index];
    Peer peer;
    peer.rank = ranks[index];
    const char* end = packet.bytes.data() + packet.bytes.size();
    const bool number = std::from_chars(packet.bytes.data(), end, peer.pid).ec == std::errc();
    if (!number || packet.descriptors.size() != 1) {
      return fail(ErrorKind::peer, "rank {} sent \"{}\" and {} descriptors, expected its pid and a pidfd", peer.rank,
                  packet.bytes, packet.descriptors.size());
    }
    peer.process = std::move(packet.descriptors[0]);
    watch.peers_.push_back(std::move(peer));
  }
  return watch;
}

bool PeerWatch::Peer::has_ended() const {
  pollfd one{process.number(), POLLIN, 0};  // readable once the process has ended
  return poll(&one, 1, 0) > 0;
}

tl::unexpected<Error> PeerWatch::Peer::ended(std::optional<int> status) const {
  return fail(ErrorKind::peer, "rank {} (pid {}) {}", rank, pid, describe_exit(status));
}

Status PeerWatch::check(std::int32_t index) const {
  const Peer& peer = peers_[static_cast<std::size_t>(index)];
  if (!peer.has_ended()) return {};
  return peer.ended(exit_status(peer.pid, peer.process));
}

Status PeerWatch::check_crash(std::int32_t index) const {
  const Peer& peer = peers_[static_cast<std::size_t>(index)];
  if (!peer.has_ended()) return {};
  const std::optional<int> status = exit_status(peer.pid, peer.process);
  if (status.value_or(0) == 0) return {};
  return peer.ended(status);
}

}  // namespace hocket
