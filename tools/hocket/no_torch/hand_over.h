// Loading libtorch takes a third of a second, so `hocket` does without it; the commands that need it are done by the
// program `hocket-torch`, which stands beside `hocket` in the build folder and where they are installed.
#pragma once

#include <string_view>

namespace hocket::tool {

// Becomes hocket-torch with the command line of this process. Returns, with an exit code, only where that fails.
int hand_over_to_torch(std::string_view command);

}  // namespace hocket::tool
