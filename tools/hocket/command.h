// The commands of `hocket`. Each lives in a file of its own and adds itself to the command line;
// its exit code is 0 (ok), 1 (a problem was found) or 2 (wrong usage).
#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <string>

#include "hocket/base/error.h"

namespace hocket::tool {

enum ExitCode : int { ok = 0, problem = 1, usage = 2 };

// What the chosen command will do; run after the whole command line is read.
using Action = std::function<int()>;

void add_verify(CLI::App& app, Action& action);
void add_convert(CLI::App& app, Action& action);
void add_stats(CLI::App& app, Action& action);
void add_opt(CLI::App& app, Action& action);
void add_demo(CLI::App& app, Action& action);

// Prints "hocket: …" on stderr; 2 for a usage error, else 1.
int complain(const Error& error);
// Prints to stdout; a failure to do so is found at exit.
void say(const std::string& text);

}  // namespace hocket::tool
