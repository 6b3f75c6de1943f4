// Lines over a Unix socket between the driver and one rank.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <optional>
#include <string>

#include "comm/file_descriptor.h"
#include "hocket/base/error.h"

namespace hocket::comm_bench {

using Clock = std::chrono::steady_clock;

class LineSocket {
 public:
  explicit LineSocket(FileDescriptor socket) : socket_(std::move(socket)) {}
  static Result<LineSocket> connect(const std::string& path);

  Status send(const std::string& line);
  // Sleeps until there is a line. An error at the deadline, if there is one, and when the other side is gone.
  Result<std::string> receive(std::optional<Clock::time_point> deadline = std::nullopt);
  // The process on the other side.
  std::optional<pid_t> peer() const;

 private:
  FileDescriptor socket_;
  std::string received_;  // beyond the last line given out
};

// Where the ranks of one contestant come to.
class LineListener {
 public:
  static Result<LineListener> at(const std::string& path);
  Result<LineSocket> accept(Clock::time_point deadline);

 private:
  explicit LineListener(FileDescriptor socket) : socket_(std::move(socket)) {}
  FileDescriptor socket_;
};

// True once SIGINT or SIGTERM has come: whoever waits for a line stops doing so.
bool interrupted();
void watch_for_interrupts();

}  // namespace hocket::comm_bench
