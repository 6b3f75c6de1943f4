#include "comm/broken_pipes.h"

#include <signal.h>

namespace hocket {

void ignore_broken_pipes() {
  struct sigaction now {};
  const bool has_handler = sigaction(SIGPIPE, nullptr, &now) != 0 || (now.sa_flags & SA_SIGINFO) != 0;
  if (!has_handler && now.sa_handler == SIG_DFL) signal(SIGPIPE, SIG_IGN);
}

}  // namespace hocket
