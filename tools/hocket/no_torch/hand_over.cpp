#include "no_torch/hand_over.h"

#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <system_error>

#include "command.h"

namespace hocket::tool {

namespace {

// Beside the program that runs, whichever link or search path led to it.
std::string torch_program() {
  std::error_code error;
  return (std::filesystem::read_symlink("/proc/self/exe", error).parent_path() / "hocket-torch").string();
}

std::vector<std::string> own_arguments() {
  std::ifstream file("/proc/self/cmdline", std::ios::binary);
  std::vector<std::string> arguments;
  for (std::string argument; std::getline(file, argument, '\0');) arguments.push_back(argument);
  return arguments;
}

}  // namespace

int hand_over_to_torch(std::string_view command) {
  const std::string program = torch_program();
  std::vector<std::string> arguments = own_arguments();
  std::vector<char*> pointers;
  for (std::string& argument : arguments) pointers.push_back(argument.data());
  pointers.push_back(nullptr);
  execv(program.c_str(), pointers.data());

  const int reason = errno;
  if (reason != ENOENT)
    return complain({ErrorKind::system, "can't be run: " + std::system_category().message(reason), program});
  return complain({ErrorKind::usage,
                   fmt::format("'{}' needs libtorch, and this hocket was built without it: there is no {}\n"
                               "  build it with libtorch:      ./hk build, without --torch off\n"
                               "  or look at a graph file:     hocket stats step.json.gz",
                               command, program),
                   {}});
}

}  // namespace hocket::tool
