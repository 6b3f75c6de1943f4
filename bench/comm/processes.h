// Starting and ending programs.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <string>

#include "roster.h"

namespace hocket::comm_bench {

// Starts it in a process group of its own, with both outputs going to the file. It is ended when this process ends.
Result<pid_t> start_program(const Launch& launch, const std::string& output_file);
// True if it has ended by itself, or does so within this time; it is reaped then.
bool ends_within(pid_t pid, std::chrono::milliseconds time);
// Kills its whole group and reaps it.
void end_group(pid_t pid);

}  // namespace hocket::comm_bench
