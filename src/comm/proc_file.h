// What the kernel says about a process, or about all.
#pragma once

#include <sys/types.h>

#include <string>

namespace hocket {

// The content of /proc/PID/NAME. Empty where there is no such process, also if it ends while this reads, and where we may not look.
std::string proc_file(pid_t pid, const char* name);
// The content of /proc/NAME.
std::string proc_file(const std::string& name);

}  // namespace hocket
