// Loading libtorch takes a third of a second, so `hocket` does without it; the commands that need it are done by the
// program `hocket-torch`, which stands beside `hocket` in the build folder and where they are installed.
#pragma once

namespace hocket::tool {

// Becomes hocket-torch with the same arguments. Returns, with an exit code, only where that could not be started.
int hand_over_to_torch(char** argv);

}  // namespace hocket::tool
