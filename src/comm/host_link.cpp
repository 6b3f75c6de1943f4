#include "comm/host_link.h"

#include <fcntl.h>
#include <poll.h>

#include <algorithm>

#include "comm/meeting.h"

namespace hocket {

namespace {

std::vector<int> numbers_of(const std::vector<FileDescriptor>& descriptors) {
  std::vector<int> numbers;
  for (const FileDescriptor& descriptor : descriptors) numbers.push_back(descriptor.number());
  return numbers;
}

// The parcel of this rank, the way the others get it: with descriptors of its own.
Result<Packet> own_packet(const std::string& bytes, const std::vector<int>& descriptors) {
  Packet packet{bytes, {}};
  for (const int number : descriptors) {
    packet.descriptors.emplace_back(fcntl(number, F_DUPFD_CLOEXEC, 0));  // programs that this rank starts get none
    if (!packet.descriptors.back().valid()) return fail(ErrorKind::system, "can't duplicate a file descriptor");
  }
  return packet;
}

}  // namespace

Result<HostLink> HostLink::meet(const MeetingPlace& place, std::int32_t rank, std::int32_t size, Deadline deadline) {
  if (size < 1 || rank < 0 || rank >= size) {
    return fail(ErrorKind::usage, "rank {} can't be in a meeting of {} ranks", rank, size);
  }
  HostLink link(rank, size);
  if (rank == 0) {
    HOCKET_TRY(link.sockets_, receive_ranks(place, size, deadline));
  } else {
    HOCKET_TRY(FileDescriptor socket, go_to(place, rank, size, deadline));
    link.sockets_.push_back(std::move(socket));
  }
  return link;
}

Result<std::vector<Packet>> HostLink::exchange(const std::string& bytes, const std::vector<int>& descriptors,
                                               Deadline deadline) {
  if (!failure_.empty()) return fail(ErrorKind::peer, "{}", failure_);
  Result<std::vector<Packet>> all =
      rank_ == 0 ? gather_and_send(bytes, descriptors, deadline) : send_and_receive(bytes, descriptors, deadline);
  if (all) return all;
  failure_ = all.error().message;
  if (rank_ > 0) return all;
  const Deadline now = std::chrono::steady_clock::now();  // nobody may hold up the bad news for the others
  const std::string news = failure_mark + failure_.substr(0, largest_packet - 1);
  for (const FileDescriptor& socket : sockets_) {
    if (socket.valid()) static_cast<void>(send_packet(socket, news, {}, now));
  }
  return all;
}

// Looks at all ranks at once, so that the first that is lost is noticed, whoever is late.
Result<std::vector<Packet>> HostLink::gather(Deadline deadline) {
  std::vector<Packet> all(sockets_.size());
  for (std::size_t left = sockets_.size() - 1; left > 0;) {
    std::vector<pollfd> polls;
    for (std::size_t rank = 0; rank < all.size(); ++rank) {
      polls.push_back({all[rank].bytes.empty() ? sockets_[rank].number() : -1, POLLIN, 0});
    }
    if (poll(polls.data(), polls.size(), milliseconds_until(deadline)) == 0) {
      const auto late = std::find_if(polls.begin(), polls.end(), [](const pollfd& one) { return one.fd >= 0; });
      return fail(ErrorKind::peer, "lost rank {}: nothing came from it in time", late - polls.begin());
    }
    for (std::size_t rank = 1; rank < all.size(); ++rank) {
      if (polls[rank].revents == 0) continue;
      Result<Packet> packet = receive_packet(sockets_[rank], deadline);
      if (!packet) return fail(ErrorKind::peer, "lost rank {}: {}", rank, packet.error().message);
      all[rank] = std::move(*packet);
      --left;
    }
  }
  return all;
}

Result<std::vector<Packet>> HostLink::gather_and_send(const std::string& bytes, const std::vector<int>& descriptors,
                                                      Deadline deadline) {
  HOCKET_TRY(std::vector<Packet> all, gather(deadline));
  HOCKET_TRY(all[0], own_packet(parcel_mark + bytes, descriptors));
  for (std::size_t to = 1; to < all.size(); ++to) {
    for (const Packet& packet : all) {
      const Status sent = send_packet(sockets_[to], packet.bytes, numbers_of(packet.descriptors), deadline);
      if (!sent) return fail(ErrorKind::peer, "lost rank {}: {}", to, sent.error().message);
    }
  }
  for (Packet& packet : all) packet.bytes.erase(0, 1);
  return all;
}

Result<std::vector<Packet>> HostLink::send_and_receive(const std::string& bytes, const std::vector<int>& descriptors,
                                                       Deadline deadline) {
  // Where rank 0 has given up, its reason is still there to be read.
  const Status sent = send_packet(sockets_[0], parcel_mark + bytes, descriptors, deadline);
  std::vector<Packet> all;
  for (std::int32_t rank = 0; rank < size_; ++rank) {
    Result<Packet> packet = receive_packet(sockets_[0], deadline);
    if (!packet) return fail(ErrorKind::peer, "lost rank 0: {}", packet.error().message);
    if (packet->bytes[0] == failure_mark) return fail(ErrorKind::peer, "{}", packet->bytes.substr(1));
    packet->bytes.erase(0, 1);
    all.push_back(std::move(*packet));
  }
  if (!sent) return fail(sent.error());
  return all;
}

}  // namespace hocket
