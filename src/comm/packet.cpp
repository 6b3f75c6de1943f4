#include "comm/packet.h"

#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <limits>
#include <thread>

namespace hocket {

namespace {

constexpr int queue_length = 1024;                              // of connections that were not yet accepted
constexpr auto pause_when_full = std::chrono::milliseconds(1);  // between attempts to send when the kernel has no room

tl::unexpected<Error> refused(const char* what) {
  return fail(ErrorKind::system, "can't {}: {}", what, std::strerror(errno));
}

Result<FileDescriptor> new_socket() {
  FileDescriptor socket(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!socket.valid()) return refused("make a socket");
  return socket;
}

// An abstract address is a zero byte and the name, its length told by the length of the address.
Result<socklen_t> address_of(const std::string& name, sockaddr_un& address) {
  address = {};
  address.sun_family = AF_UNIX;
  if (name.empty() || name.size() + 1 > sizeof address.sun_path) {
    return fail(ErrorKind::usage, "the name of a meeting place has {} characters, expected 1 to {}", name.size(),
                sizeof address.sun_path - 1);
  }
  std::memcpy(address.sun_path + 1, name.data(), name.size());
  return static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
}

// False at the deadline.
bool ready(const FileDescriptor& socket, short events, Deadline deadline) {
  pollfd one{socket.number(), events, 0};
  return poll(&one, 1, milliseconds_until(deadline)) > 0;
}

struct ControlBuffer {
  alignas(cmsghdr) char bytes[CMSG_SPACE(sizeof(int) * most_descriptors)];
};

void attach(msghdr& message, ControlBuffer& control, const std::vector<int>& descriptors) {
  if (descriptors.empty()) return;
  control = {};
  message.msg_control = control.bytes;
  message.msg_controllen = CMSG_SPACE(sizeof(int) * descriptors.size());
  cmsghdr* header = CMSG_FIRSTHDR(&message);
  header->cmsg_level = SOL_SOCKET;
  header->cmsg_type = SCM_RIGHTS;
  header->cmsg_len = CMSG_LEN(sizeof(int) * descriptors.size());
  std::memcpy(CMSG_DATA(header), descriptors.data(), sizeof(int) * descriptors.size());
}

// Takes them over first of all, so that they are closed whatever is wrong with the packet.
std::vector<FileDescriptor> take_descriptors(msghdr& message) {
  std::vector<FileDescriptor> descriptors;
  for (cmsghdr* header = CMSG_FIRSTHDR(&message); header != nullptr; header = CMSG_NXTHDR(&message, header)) {
    if (header->cmsg_level != SOL_SOCKET || header->cmsg_type != SCM_RIGHTS) continue;
    const std::size_t count = (header->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (std::size_t i = 0; i < count; ++i) {
      int number = -1;
      std::memcpy(&number, CMSG_DATA(header) + i * sizeof(int), sizeof(int));
      descriptors.emplace_back(number);
    }
  }
  return descriptors;
}

}  // namespace

int milliseconds_until(Deadline deadline) {
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now()).count();
  return static_cast<int>(std::clamp<decltype(left)>(left, 0, std::numeric_limits<int>::max()));
}

Result<FileDescriptor> listen_at(const std::string& name) {
  HOCKET_TRY(FileDescriptor socket, new_socket());
  sockaddr_un address;
  HOCKET_TRY(const socklen_t length, address_of(name, address));
  if (bind(socket.number(), reinterpret_cast<const sockaddr*>(&address), length) != 0) {
    return refused("take the meeting place, is there another rank 0?");
  }
  if (listen(socket.number(), queue_length) != 0) return refused("listen at the meeting place");
  return socket;
}

Result<FileDescriptor> try_connect(const std::string& name) {
  HOCKET_TRY(FileDescriptor socket, new_socket());
  sockaddr_un address;
  HOCKET_TRY(const socklen_t length, address_of(name, address));
  if (connect(socket.number(), reinterpret_cast<const sockaddr*>(&address), length) == 0) return socket;
  if (errno == ECONNREFUSED || errno == EAGAIN || errno == EINTR) return FileDescriptor();
  return refused("connect to the meeting place");
}

Result<uid_t> user_of(const FileDescriptor& socket) {
  ucred credentials{};
  socklen_t length = sizeof credentials;
  if (getsockopt(socket.number(), SOL_SOCKET, SO_PEERCRED, &credentials, &length) != 0) {
    return refused("ask who is at the other end of a socket");
  }
  return credentials.uid;
}

Status send_packet(const FileDescriptor& socket, const std::string& bytes, const std::vector<int>& descriptors,
                   Deadline deadline) {
  if (bytes.empty() || bytes.size() > largest_packet || descriptors.size() > most_descriptors) {
    return fail(ErrorKind::internal, "a packet of {} bytes and {} descriptors, expected 1 to {} and at most {}",
                bytes.size(), descriptors.size(), largest_packet, most_descriptors);
  }
  iovec part{const_cast<char*>(bytes.data()), bytes.size()};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  ControlBuffer control;
  attach(message, control, descriptors);
  for (;;) {
    if (sendmsg(socket.number(), &message, MSG_NOSIGNAL) >= 0) return {};
    const bool full = errno == EAGAIN;
    const bool in_flight = errno == ETOOMANYREFS;  // too many descriptors sent and not yet received
    if (!full && !in_flight && errno != EINTR) {
      return fail(ErrorKind::peer, "the connection is broken: {}", std::strerror(errno));
    }
    if (milliseconds_until(deadline) == 0) return fail(ErrorKind::peer, "it takes no packets");
    if (full) ready(socket, POLLOUT, deadline);
    if (in_flight) std::this_thread::sleep_for(pause_when_full);
  }
}

Result<Packet> receive_packet(const FileDescriptor& socket, Deadline deadline) {
  Packet packet;
  packet.bytes.resize(largest_packet);
  ControlBuffer control;
  iovec part{packet.bytes.data(), packet.bytes.size()};
  for (;;) {
    msghdr message{};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    message.msg_control = control.bytes;
    message.msg_controllen = sizeof control.bytes;
    const ssize_t count = recvmsg(socket.number(), &message, MSG_CMSG_CLOEXEC);
    if (count >= 0) {
      packet.descriptors = take_descriptors(message);
      if (count == 0) return fail(ErrorKind::peer, "it closed the connection");
      if ((message.msg_flags & MSG_TRUNC) != 0) return fail(ErrorKind::peer, "it sent too much at once");
      if ((message.msg_flags & MSG_CTRUNC) != 0) {
        return fail(ErrorKind::peer,
                    "it sent more descriptors than can be taken here: there is a limit of open files, see ulimit -n");
      }
      packet.bytes.resize(static_cast<std::size_t>(count));
      return packet;
    }
    // The kernel says once that the other end closed without reading everything. What it sent before is still to come.
    if (errno == ECONNRESET) continue;
    if (errno != EAGAIN && errno != EINTR) return refused("receive a packet");
    if (milliseconds_until(deadline) == 0) return fail(ErrorKind::peer, "nothing came from it in time");
    ready(socket, POLLIN, deadline);
  }
}

}  // namespace hocket
