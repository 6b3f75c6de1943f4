// Signals that are read like a file instead of interrupting the program.
#pragma once

#include <csignal>
#include <optional>

#include "comm/file_descriptor.h"
#include "hocket/base/error.h"

namespace hocket {

class CaughtSignals {
 public:
  // SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGTSTP and SIGCONT, and SIGPIPE, which is dropped: from now on and
  // until the end of this object. For a program with one thread: others would still get them.
  static Result<CaughtSignals> create();
  CaughtSignals(CaughtSignals&&) noexcept = default;
  CaughtSignals& operator=(CaughtSignals&&) = delete;
  ~CaughtSignals();

  int descriptor() const { return descriptor_.number(); }
  // The next one, if one came.
  std::optional<int> take() const;
  // What was blocked before.
  const sigset_t& before() const { return before_; }

 private:
  CaughtSignals(FileDescriptor descriptor, const sigset_t& before)
      : descriptor_(std::move(descriptor)), before_(before) {}
  FileDescriptor descriptor_;
  sigset_t before_;
};

}  // namespace hocket
