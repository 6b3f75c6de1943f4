#include "comm/proc_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>

#include "comm/file_descriptor.h"

namespace hocket {

// Not by a stream: if the process ends between opening and reading, the kernel says ESRCH, which a stream's buffer throws.
std::string proc_file(const std::string& name) {
  const FileDescriptor file(open(("/proc/" + name).c_str(), O_RDONLY | O_CLOEXEC));
  std::string content;
  if (file.number() < 0) return content;
  char piece[4096];
  for (;;) {
    const ssize_t count = read(file.number(), piece, sizeof piece);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return {};
    if (count == 0) return content;
    content.append(piece, static_cast<std::size_t>(count));
  }
}

std::string proc_file(pid_t pid, const char* name) { return proc_file(fmt::format("{}/{}", pid, name)); }

}  // namespace hocket
