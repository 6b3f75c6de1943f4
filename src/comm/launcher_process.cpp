#include "comm/launcher_process.h"

#include <unistd.h>

#include <optional>
#include <sstream>
#include <string>

#include "comm/proc_file.h"

namespace hocket {

namespace {

struct Parentage {
  pid_t parent = 0;
  std::uint64_t start = 0;
};

// The fields 4 and 22 of /proc/PID/stat.
std::optional<Parentage> parentage_of(pid_t pid) {
  constexpr int fields_between = 17;
  const std::string stat = proc_file(pid, "stat");
  const std::size_t name_end = stat.rfind(')');  // the name may hold anything
  if (name_end == std::string::npos) return std::nullopt;
  std::istringstream rest(stat.substr(name_end + 1));
  Parentage found;
  std::string skipped;
  rest >> skipped >> found.parent;
  for (int i = 0; i < fields_between; ++i) rest >> skipped;
  if (!(rest >> found.start)) return std::nullopt;
  return found;
}

// False also where we may not look: a process of another user is no rank of ours.
bool was_started_with(pid_t pid, std::string_view variable) {
  const std::string environment = '\0' + proc_file(pid, "environ");
  return environment.find(fmt::format("{}{}=", '\0', variable)) != std::string::npos;
}

}  // namespace

Result<ProcessIdentity> launcher_process(std::string_view variable) {
  pid_t pid = getppid();
  for (;;) {
    const std::optional<Parentage> found = parentage_of(pid);
    if (!found) {
      return fail(ErrorKind::system, "can't find the process that has started this rank: /proc/{}/stat can't be read",
                  pid);
    }
    const bool is_top = found->parent <= 1;  // 0: beyond this container
    if (is_top || !was_started_with(pid, variable)) return ProcessIdentity{pid, found->start};
    pid = found->parent;
  }
}

}  // namespace hocket
