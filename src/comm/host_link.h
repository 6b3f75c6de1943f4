// The ranks of one host, connected: rank 0 listens at a place that only they know, the others come to it.
//
//   HOCKET_TRY(HostLink link, HostLink::meet(place, rank, size, deadline));
//   HOCKET_TRY(std::vector<Packet> all, link.exchange({"hello", {}}, deadline));
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "comm/packet.h"

namespace hocket {

// Whoever knows the token is let in, so it is neither printed nor put on a command line.
struct MeetingPlace {
  std::string name;  // of an abstract Unix socket
  std::array<std::uint8_t, 32> token{};

  static Result<MeetingPlace> random();
};

class HostLink {
 public:
  // Collective. Clients of other users, with a wrong token, or that say nothing are turned away or ignored, and keep nobody
  // waiting. Ranks that are missing at the deadline are named.
  static Result<HostLink> meet(const MeetingPlace& place, std::int32_t rank, std::int32_t size, Deadline deadline);

  std::int32_t rank() const { return rank_; }
  std::int32_t size() const { return size_; }

  // Collective: everyone gives a packet and gets those of all ranks, its own among them. If one rank fails, all fail with
  // the same reason, and so do all later exchanges.
  Result<std::vector<Packet>> exchange(const std::string& bytes, const std::vector<int>& descriptors,
                                       Deadline deadline);

 private:
  HostLink(std::int32_t rank, std::int32_t size) : rank_(rank), size_(size) {}
  Result<std::vector<Packet>> gather_and_send(const std::string& bytes, const std::vector<int>& descriptors,
                                              Deadline deadline);
  Result<std::vector<Packet>> send_and_receive(const std::string& bytes, const std::vector<int>& descriptors,
                                               Deadline deadline);
  Result<std::vector<Packet>> gather(Deadline deadline);

  std::int32_t rank_;
  std::int32_t size_;
  // Rank 0 has one for each rank (its own is invalid); the others have one, to rank 0.
  std::vector<FileDescriptor> sockets_;
  std::string failure_;  // why the link can't be used any more
};

}  // namespace hocket
