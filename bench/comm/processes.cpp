#include "processes.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <thread>

#include "comm/file_descriptor.h"

namespace hocket::comm_bench {

namespace {

[[noreturn]] void become(const Launch& launch, int output) {
  setpgid(0, 0);
  prctl(PR_SET_PDEATHSIG, SIGTERM);
  dup2(output, STDOUT_FILENO);
  dup2(output, STDERR_FILENO);
  const int nothing = open("/dev/null", O_RDONLY);
  dup2(nothing, STDIN_FILENO);
  for (const auto& [name, value] : launch.variables) setenv(name.c_str(), value.c_str(), 1);
  std::vector<char*> arguments;
  for (const std::string& argument : launch.command) arguments.push_back(const_cast<char*>(argument.c_str()));
  arguments.push_back(nullptr);
  execvp(arguments[0], arguments.data());
  dprintf(STDERR_FILENO, "can't start %s: %s\n", arguments[0], std::strerror(errno));
  constexpr int could_not_start = 127;  // as shells have it
  _exit(could_not_start);
}

}  // namespace

Result<pid_t> start_program(const Launch& launch, const std::string& output_file) {
  constexpr mode_t mine = 0600;
  const FileDescriptor output(open(output_file.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, mine));
  if (!output.valid()) return fail(ErrorKind::system, "can't write {}: {}", output_file, std::strerror(errno));
  const pid_t pid = fork();
  if (pid < 0) return fail(ErrorKind::system, "fork: {}", std::strerror(errno));
  if (pid == 0) become(launch, output.number());
  setpgid(pid, pid);  // on both sides: whoever comes first
  return pid;
}

bool ends_within(pid_t pid, std::chrono::milliseconds time) {
  const auto deadline = std::chrono::steady_clock::now() + time;
  for (;;) {
    const pid_t ended = waitpid(pid, nullptr, WNOHANG);
    if (ended == pid || (ended < 0 && errno == ECHILD)) return true;
    if (std::chrono::steady_clock::now() >= deadline) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
}

void end_group(pid_t pid) {
  kill(-pid, SIGKILL);
  while (waitpid(pid, nullptr, 0) < 0 && errno == EINTR) continue;
}

}  // namespace hocket::comm_bench
