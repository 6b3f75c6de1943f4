// The command line of both programs, `hocket` and `hocket-torch`: they read the same commands and options.
#pragma once

#include "demo.h"

namespace hocket::tool {

// What a program does for the commands that need libtorch: the thing itself, or to hand it over.
struct TorchCommands {
  RunDemo demo;
};

// Reads the command line, does what it says and returns the exit code.
int run_command_line(int argc, char** argv, const TorchCommands& torch);

}  // namespace hocket::tool
