// The commands of `hocket`. Each lives in a file of its own and adds itself to the command line;
// its exit code is 0 (ok), 1 (a problem was found) or 2 (wrong usage); that of `launch` comes from the program.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <string>
#include <vector>

#include "hocket/base/error.h"

namespace hocket::tool {

enum ExitCode : int { ok = 0, problem = 1, usage = 2 };

// What the chosen command will do; run after the whole command line is read.
using Action = std::function<int()>;

void add_verify(CLI::App& app, Action& action);
void add_convert(CLI::App& app, Action& action);
void add_stats(CLI::App& app, Action& action);
void add_opt(CLI::App& app, Action& action);
void add_explain(CLI::App& app, Action& action);
void add_sim(CLI::App& app, Action& action);
void add_diff(CLI::App& app, Action& action);
void add_profile(CLI::App& app, Action& action);
void add_demo(CLI::App& app, Action& action);
void add_calibrate(CLI::App& app, Action& action);
// `program` is read when the action runs.
void add_launch(CLI::App& app, Action& action, const std::vector<std::string>& program);

// What `hocket launch` is to start, cut off the command line: its options and arguments are none of ours.
std::vector<std::string> split_off_program(const CLI::App& app, int& argc, char** argv);

// Prints "hocket: …" on stderr; 2 for a usage error, else 1.
int complain(const Error& error);
// Prints to stdout; a failure to do so is found at exit.
void say(const std::string& text);

}  // namespace hocket::tool
