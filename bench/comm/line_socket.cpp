#include "line_socket.h"

#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace hocket::comm_bench {

namespace {

volatile sig_atomic_t interrupt_came = 0;

Result<sockaddr_un> address_of(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof address.sun_path)
    return fail(ErrorKind::usage, "{} is too long for a socket: set TMPDIR to a shorter folder", path);
  std::copy(path.begin(), path.end(), address.sun_path);
  return address;
}

tl::unexpected<Error> refused(const char* what) {
  return fail(ErrorKind::system, "{}: {}", what, std::strerror(errno));
}

Status wait_readable(int socket, std::optional<Clock::time_point> deadline) {
  for (;;) {
    if (interrupted()) return fail(ErrorKind::usage, "interrupted");
    int left = -1;
    if (deadline) {
      const auto ms = std::chrono::ceil<std::chrono::milliseconds>(*deadline - Clock::now()).count();
      if (ms <= 0) return fail(ErrorKind::peer, "no answer in time");
      left = static_cast<int>(ms);
    }
    pollfd one{socket, POLLIN, 0};
    const int ready = poll(&one, 1, left);
    if (ready > 0) return {};
    if (ready < 0 && errno != EINTR) return refused("poll");
  }
}

}  // namespace

Result<LineSocket> LineSocket::connect(const std::string& path) {
  HOCKET_TRY(const sockaddr_un address, address_of(path));
  FileDescriptor socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!socket.valid() || ::connect(socket.number(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0)
    return fail(ErrorKind::system, "can't reach the driver at {}: {}", path, std::strerror(errno));
  return LineSocket(std::move(socket));
}

Status LineSocket::send(const std::string& line) {
  const std::string bytes = line + "\n";
  std::size_t sent = 0;
  while (sent < bytes.size()) {
    const ssize_t count = ::send(socket_.number(), bytes.data() + sent, bytes.size() - sent, MSG_NOSIGNAL);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return refused("send");
    sent += static_cast<std::size_t>(count);
  }
  return {};
}

Result<std::string> LineSocket::receive(std::optional<Clock::time_point> deadline) {
  for (;;) {
    if (const std::size_t end = received_.find('\n'); end != std::string::npos) {
      std::string line = received_.substr(0, end);
      received_.erase(0, end + 1);
      return line;
    }
    HOCKET_CHECK(wait_readable(socket_.number(), deadline));
    char buffer[4096];
    const ssize_t count = read(socket_.number(), buffer, sizeof buffer);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return refused("read");
    if (count == 0) return fail(ErrorKind::peer, "the other side is gone");
    received_.append(buffer, static_cast<std::size_t>(count));
  }
}

std::optional<pid_t> LineSocket::peer() const {
  ucred who{};
  socklen_t size = sizeof who;
  if (getsockopt(socket_.number(), SOL_SOCKET, SO_PEERCRED, &who, &size) != 0) return std::nullopt;
  return who.pid;
}

Result<LineListener> LineListener::at(const std::string& path) {
  HOCKET_TRY(const sockaddr_un address, address_of(path));
  FileDescriptor socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  constexpr int backlog = 64;
  if (!socket.valid() || bind(socket.number(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0 ||
      listen(socket.number(), backlog) != 0)
    return fail(ErrorKind::system, "can't listen at {}: {}", path, std::strerror(errno));
  return LineListener(std::move(socket));
}

Result<LineSocket> LineListener::accept(Clock::time_point deadline) {
  HOCKET_CHECK(wait_readable(socket_.number(), deadline));
  FileDescriptor socket(accept4(socket_.number(), nullptr, nullptr, SOCK_CLOEXEC));
  if (!socket.valid()) return refused("accept");
  return LineSocket(std::move(socket));
}

bool interrupted() { return interrupt_came != 0; }

void watch_for_interrupts() {
  struct sigaction action {};
  action.sa_handler = [](int) { interrupt_came = 1; };  // without SA_RESTART: poll returns
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
}

}  // namespace hocket::comm_bench
