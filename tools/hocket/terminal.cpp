#include "terminal.h"

#include <sys/ioctl.h>
#include <unistd.h>

namespace hocket::tool {

Terminal standard_output() {
  Terminal terminal;
  if (isatty(STDOUT_FILENO) == 0) return terminal;
  terminal.colour = true;
  winsize size{};
  if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) terminal.width = size.ws_col;
  return terminal;
}

}  // namespace hocket::tool
