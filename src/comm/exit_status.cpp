#include "comm/exit_status.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <sys/wait.h>

#include <charconv>
#include <cstdint>
#include <cstring>
#include <string>

#include "comm/proc_file.h"

namespace hocket {

namespace {

// struct pidfd_info of linux/pidfd.h as of Linux 6.15, which most distributions' headers don't have yet.
struct PidfdInfo {
  std::uint64_t mask;
  std::uint64_t cgroup;
  std::uint32_t ids[11];
  std::int32_t exit_code;
};
static_assert(sizeof(PidfdInfo) == 64);
constexpr std::uint64_t info_exit = 1U << 3;
constexpr unsigned long get_info = _IOWR(0xFF, 11, PidfdInfo);

// Of a process that was reaped.
std::optional<int> from_descriptor(const FileDescriptor& process) {
  PidfdInfo info{};
  info.mask = info_exit;
  if (ioctl(process.number(), get_info, &info) != 0 || (info.mask & info_exit) == 0) return std::nullopt;
  return info.exit_code;
}

// Of a process that has ended and was not reaped: the last field of /proc/PID/stat. The number can't have passed on to another
// process as long as the state is that of a zombie; where it has, that one is no zombie or not ours to read.
std::optional<int> from_zombie(pid_t pid) {
  const std::string stat = proc_file(pid, "stat");
  const std::size_t name_end = stat.rfind(')');  // the name may hold anything, also ") Z"
  if (name_end == std::string::npos || stat.compare(name_end, 3, ") Z") != 0) return std::nullopt;
  const std::size_t last = stat.find_last_of(' ');
  int status = 0;
  const char* end = stat.data() + stat.size();
  return std::from_chars(stat.data() + last + 1, end, status).ec == std::errc() ? std::optional(status) : std::nullopt;
}

}  // namespace

std::optional<int> exit_status(pid_t pid, const FileDescriptor& process) {
  if (const auto status = from_descriptor(process)) return status;
  if (const auto status = from_zombie(pid)) return status;
  return from_descriptor(process);  // it was reaped between the two
}

std::string describe_exit(std::optional<int> status) {
  if (!status) return "ended";
  if (WIFSIGNALED(*status))
    return fmt::format("was killed by signal {} ({})", WTERMSIG(*status), strsignal(WTERMSIG(*status)));
  return fmt::format("exited with code {}", WEXITSTATUS(*status));
}

}  // namespace hocket
