// A plain TCP stream between two hosts: what the link gives without anything on top.
#pragma once

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include "comm/file_descriptor.h"
#include "hocket/base/error.h"

namespace hocket {

class HostsStream {
 public:
  // Collective over the one that listens at the address and the one that calls; all others have no stream.
  static Result<HostsStream> connect(const std::string& address, bool listens, bool calls) {
    HostsStream stream;
    if (!listens && !calls) return stream;
    sockaddr_in where{};
    where.sin_family = AF_INET;
    where.sin_port = htons(port);
    if (inet_pton(AF_INET, address.c_str(), &where.sin_addr) != 1) {
      return fail(ErrorKind::usage, "\"{}\" is no address", address);
    }
    FileDescriptor made(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    auto* const at = reinterpret_cast<sockaddr*>(&where);
    if (listens) {
      const int again = 1;
      setsockopt(made.number(), SOL_SOCKET, SO_REUSEADDR, &again, sizeof again);
      if (bind(made.number(), at, sizeof where) != 0 || listen(made.number(), 1) != 0) {
        return fail(ErrorKind::system, "can't listen at {}:{}", address, port);
      }
      stream.socket_ = FileDescriptor(accept(made.number(), nullptr, nullptr));
      return stream;
    }
    for (int attempt = 0; ::connect(made.number(), at, sizeof where) != 0; ++attempt) {
      if (attempt == 500) return fail(ErrorKind::system, "nobody listens at {}:{}", address, port);
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    stream.socket_ = std::move(made);
    return stream;
  }

  // Sends and receives so many bytes, at the same time if it does both.
  bool exchange(std::int64_t bytes, bool sends, bool receives) {
    if (!socket_.valid()) return true;
    bool sent = true;
    std::thread sender;
    if (sends) sender = std::thread([&] { sent = send_all(bytes); });
    const bool received = !receives || receive_all(bytes);
    if (sender.joinable()) sender.join();
    return sent && received;
  }

 private:
  static constexpr std::uint16_t port = 29471;  // of a namespace that nobody else is in
  static constexpr std::size_t piece = 256 << 10;

  bool send_all(std::int64_t bytes) {
    std::vector<char> data(piece);
    while (bytes > 0) {
      const ssize_t now = send(socket_.number(), data.data(),
                               std::min<std::size_t>(piece, static_cast<std::size_t>(bytes)), MSG_NOSIGNAL);
      if (now <= 0) return false;
      bytes -= now;
    }
    return true;
  }
  bool receive_all(std::int64_t bytes) {
    std::vector<char> data(piece);
    while (bytes > 0) {
      const ssize_t now =
          recv(socket_.number(), data.data(), std::min<std::size_t>(piece, static_cast<std::size_t>(bytes)), 0);
      if (now <= 0) return false;
      bytes -= now;
    }
    return true;
  }

  FileDescriptor socket_;
};

}  // namespace hocket
