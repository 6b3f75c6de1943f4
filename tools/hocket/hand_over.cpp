#include "hand_over.h"

#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <system_error>

#include "command.h"

namespace hocket::tool {

namespace {

// Beside the program that runs, whichever link or search path led to it.
std::filesystem::path torch_program() {
  std::error_code error;
  const std::filesystem::path self = std::filesystem::read_symlink("/proc/self/exe", error);
  return self.parent_path() / "hocket-torch";
}

}  // namespace

int hand_over_to_torch(char** argv) {
  const std::string program = torch_program().string();
  execv(program.c_str(), argv);
  const int reason = errno;
  if (reason != ENOENT)
    return complain({ErrorKind::system, "can't be run: " + std::system_category().message(reason), program});
  return complain({ErrorKind::usage,
                   fmt::format("'{}' needs libtorch, and this hocket was built without it: there is no {}\n"
                               "  build it with libtorch:      ./hk build, without --torch off\n"
                               "  or look at a graph file:     hocket stats step.json.gz",
                               argv[1], program),
                   {}});
}

}  // namespace hocket::tool
