#include "comm/caught_signals.h"

#include <sys/signalfd.h>

#include <cerrno>
#include <cstring>

namespace hocket {

Result<CaughtSignals> CaughtSignals::create() {
  sigset_t caught;
  sigset_t before;
  sigemptyset(&caught);
  for (const int number : {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGTSTP, SIGCONT, SIGPIPE}) {
    sigaddset(&caught, number);
  }
  FileDescriptor descriptor(signalfd(-1, &caught, SFD_CLOEXEC | SFD_NONBLOCK));
  if (!descriptor.valid()) return fail(ErrorKind::system, "can't catch signals: {}", std::strerror(errno));
  pthread_sigmask(SIG_BLOCK, &caught, &before);
  return CaughtSignals(std::move(descriptor), before);
}

CaughtSignals::~CaughtSignals() {
  if (!descriptor_.valid()) return;
  while (take()) continue;  // what came at the very end is over with the launch
  pthread_sigmask(SIG_SETMASK, &before_, nullptr);
}

std::optional<int> CaughtSignals::take() const {
  signalfd_siginfo info{};
  while (read(descriptor_.number(), &info, sizeof info) == sizeof info) {
    if (info.ssi_signo != SIGPIPE) return static_cast<int>(info.ssi_signo);
  }
  return std::nullopt;
}

}  // namespace hocket
