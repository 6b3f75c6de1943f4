#include "comm/process_group.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <memory>
#include <sstream>
#include <string>

#include "comm/proc_file.h"

namespace hocket {

namespace {

// Only calls that are safe after a fork of a process with threads. All signals are blocked.
[[noreturn]] void keep(int alive) {
  if (setpgid(0, 0) != 0) _exit(1);  // or the kill below would be for the group of the parent
  prctl(PR_SET_NAME, "hocket-keeper");
  // It holds nothing open that somebody could be waiting for the end of.
  dup2(alive, 0);
  close_range(1, ~0U, 0);
  char byte = 0;
  while (read(0, &byte, 1) < 0 && errno == EINTR) continue;
  kill(0, SIGKILL);
  _exit(0);
}

struct Stat {
  std::string name;
  char state = 'Z';
  pid_t group = 0;
};

Stat stat_of(pid_t pid) {
  const std::string text = proc_file(pid, "stat");
  const std::size_t name_begin = text.find('(');
  const std::size_t name_end = text.rfind(')');  // the name may hold anything
  Stat stat;
  if (name_begin == std::string::npos || name_end == std::string::npos) return stat;  // it has just ended
  stat.name = text.substr(name_begin + 1, name_end - name_begin - 1);
  std::istringstream rest(text.substr(name_end + 1));
  pid_t parent = 0;
  rest >> stat.state >> parent >> stat.group;
  return stat;
}

}  // namespace

Result<ProcessGroup> ProcessGroup::create() {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return fail(ErrorKind::system, "can't make a pipe: {}", std::strerror(errno));
  const FileDescriptor reader(ends[0]);
  FileDescriptor writer(ends[1]);
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  const pid_t keeper = fork();
  if (keeper == 0) keep(reader.number());
  const int reason = errno;
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  if (keeper < 0) return fail(ErrorKind::system, "can't start a process: {}", std::strerror(reason));
  setpgid(keeper, keeper);  // whoever of the two comes first: the group is there when this returns
  return ProcessGroup(keeper, std::move(writer));
}

ProcessGroup::~ProcessGroup() {
  if (keeper_ < 0) return;
  signal(SIGKILL);
  while (waitpid(keeper_, nullptr, 0) < 0 && errno == EINTR) continue;
}

void ProcessGroup::signal(int number) const { kill(-keeper_, number); }

std::vector<std::string> ProcessGroup::members() const {
  std::vector<std::string> members;
  const std::unique_ptr<DIR, int (*)(DIR*)> processes(opendir("/proc"), closedir);
  if (!processes) return members;
  const std::string keeper = std::to_string(keeper_);
  while (const dirent* entry = readdir(processes.get())) {
    const std::string pid = entry->d_name;
    if (pid == keeper || pid.find_first_not_of("0123456789") != std::string::npos) continue;
    const Stat stat = stat_of(static_cast<pid_t>(std::stol(pid)));
    if (stat.group == keeper_ && stat.state != 'Z' && stat.state != 'X') {
      members.push_back(fmt::format("{} (pid {})", stat.name, pid));
    }
  }
  return members;
}

}  // namespace hocket
