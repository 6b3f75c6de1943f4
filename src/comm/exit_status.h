// How a process that is no child of ours has ended.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>

#include "comm/file_descriptor.h"

namespace hocket {

// As wait() gives it. Nothing where the kernel doesn't tell: before 6.15 it forgets a process that was reaped.
std::optional<int> exit_status(pid_t pid, const FileDescriptor& process);

// "was killed by signal 9 (Killed)", "exited with code 3", "ended".
std::string describe_exit(std::optional<int> status);

}  // namespace hocket
