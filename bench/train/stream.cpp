#include "stream.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstring>
#include <thread>

namespace hocket::train_bench {

namespace {

tl::unexpected<Error> refused(const char* what, const std::string& address) {
  return fail(ErrorKind::system, "{} at {}: {}", what, address, std::strerror(errno));
}

Result<sockaddr_in> address_of(const std::string& text, std::int32_t port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  if (inet_pton(AF_INET, text.c_str(), &address.sin_addr) != 1)
    return fail(ErrorKind::usage, "\"{}\" is no IPv4 address", text);
  return address;
}

// Of a port that the kernel chooses.
Result<FileDescriptor> listen_at(const std::string& text) {
  HOCKET_TRY(const sockaddr_in address, address_of(text, 0));
  FileDescriptor socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!socket.valid() || bind(socket.number(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0 ||
      listen(socket.number(), 1) != 0)
    return refused("can't listen", text);
  return socket;
}

std::int32_t port_of(const FileDescriptor& socket) {
  sockaddr_in address{};
  socklen_t length = sizeof address;
  getsockname(socket.number(), reinterpret_cast<sockaddr*>(&address), &length);
  return ntohs(address.sin_port);
}

Result<FileDescriptor> connect_to(const std::string& text, std::int32_t port) {
  HOCKET_TRY(const sockaddr_in address, address_of(text, port));
  FileDescriptor socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!socket.valid() || connect(socket.number(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0)
    return refused("can't connect", text);
  return socket;
}

}  // namespace

Result<Stream> Stream::between(const World& world, const std::string& address) {
  if (world.size() != 2) return fail(ErrorKind::usage, "a stream is between 2 ranks, and there are {}", world.size());
  HOCKET_TRY(const Communicator all, world.communicator());
  FileDescriptor listener;
  std::int32_t port = 0;
  if (world.rank() == 0) {
    HOCKET_TRY(listener, listen_at(address));
    port = port_of(listener);
  }
  HOCKET_CHECK(all.broadcast(&port, &port, 1, Dtype::i32, 0).wait());
  if (world.rank() == 1) {
    HOCKET_TRY(FileDescriptor socket, connect_to(address, port));
    return Stream(std::move(socket));
  }
  FileDescriptor socket(accept4(listener.number(), nullptr, nullptr, SOCK_CLOEXEC));
  if (!socket.valid()) return refused("nobody connected", address);
  return Stream(std::move(socket));
}

Status Stream::exchange(std::size_t bytes) {
  outgoing_.resize(bytes);
  incoming_.resize(bytes);
  Status sent;
  std::jthread sender([&] { sent = send_all(); });
  const Status received = receive_all();
  sender.join();
  return received ? sent : received;
}

Status Stream::send_all() {
  for (std::size_t done = 0; done < outgoing_.size();) {
    const ssize_t now = send(socket_.number(), outgoing_.data() + done, outgoing_.size() - done, MSG_NOSIGNAL);
    if (now < 0 && errno == EINTR) continue;
    if (now <= 0) return fail(ErrorKind::peer, "the stream broke: {}", std::strerror(errno));
    done += static_cast<std::size_t>(now);
  }
  return {};
}

Status Stream::receive_all() {
  for (std::size_t done = 0; done < incoming_.size();) {
    const ssize_t now = recv(socket_.number(), incoming_.data() + done, incoming_.size() - done, MSG_WAITALL);
    if (now < 0 && errno == EINTR) continue;
    if (now <= 0) return fail(ErrorKind::peer, "the stream ended after {} bytes", done);
    done += static_cast<std::size_t>(now);
  }
  return {};
}

}  // namespace hocket::train_bench
