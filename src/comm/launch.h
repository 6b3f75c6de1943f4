// What `hocket launch` does: starts the ranks of a program on this host and stays with them until the last has ended.
//
//   LaunchOptions options;
//   options.ranks = 4;
//   options.command = {"./train", "--steps", "100"};
//   HOCKET_TRY(const int exit_code, launch(options));
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "hocket/base/error.h"

namespace hocket {

struct LaunchOptions {
  int ranks = 1;
  std::vector<std::string> command;       // program and arguments
  std::string search;                     // where the program is looked for: what PATH has
  std::vector<std::string> environment;   // "NAME=value", for all ranks
  std::chrono::milliseconds grace{5000};  // from SIGTERM to SIGKILL when a rank has failed
  bool prefix = true;                     // "[3] " in front of every line of rank 3
  bool bind_to_cores = false;             // rank r to the r-th usable core, round robin
  std::string output_folder;              // write rank_R.out and rank_R.err there instead of passing output on
  int input = 0;                          // goes to rank 0
  int output = 1;                         // takes the ranks' lines
  int errors = 2;                         // takes the ranks' errors, and what the launch itself has to say
};

// The exit code of the first rank that failed, 128 + signal if a signal ended it, else 0; 127 or 126 if there is no such
// program or it can't be run. When a rank fails, the others are ended. No rank, and no child of a rank that stayed in its
// process group, is left when this returns, or when this process is killed.
//
// SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGTSTP and SIGCONT go to the ranks and their children, SIGUSR1 and SIGUSR2 to the
// ranks alone. Once one rank has failed after such a signal, the others have the grace time to end by themselves.
//
// To be called from a program that has no other threads.
Result<int> launch(const LaunchOptions& options);

// All variables of this process.
std::vector<std::string> inherited_environment();

}  // namespace hocket
