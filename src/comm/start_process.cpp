#include "comm/start_process.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include <cerrno>
#include <cstddef>
#include <cstring>

namespace hocket {

namespace {

constexpr std::size_t stack_size = std::size_t{256} << 10;  // the child calls nothing that goes deep
constexpr int most_processors = 8192;                       // of a Linux machine

// All that the child needs, made by the parent: the child may neither allocate nor take a lock.
struct Child {
  const ProcessStart& start;
  pid_t parent;
  std::vector<char*> arguments;
  std::vector<char*> environment;
  std::vector<std::uint8_t> cores;  // a bit for each processor
  // Answers, in the memory that both have.
  const char* failed_step = nullptr;
  int reason = 0;
};

std::vector<char*> pointers_to(const std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  for (const std::string& text : texts) pointers.push_back(const_cast<char*>(text.c_str()));
  pointers.push_back(nullptr);
  return pointers;
}

std::vector<std::uint8_t> bits_of(const std::vector<int>& cores) {
  if (cores.empty()) return {};
  std::vector<std::uint8_t> bits(most_processors / 8);
  for (const int core : cores) bits[static_cast<std::size_t>(core) / 8] |= static_cast<std::uint8_t>(1U << (core % 8));
  return bits;
}

// The three may be any numbers, also each other's: all are moved out of the way before the first is put in its place.
bool take_descriptors(const ProcessStart& start) {
  const int from[3] = {start.input, start.output, start.errors};
  int moved[3];
  for (int i = 0; i < 3; ++i) {
    moved[i] = fcntl(from[i], F_DUPFD_CLOEXEC, 3);
    if (moved[i] < 0) return false;
  }
  for (int i = 0; i < 3; ++i) {
    if (dup2(moved[i], i) < 0) return false;
  }
  return true;
}

// A handler of the parent must not run on the child's stack, nor is the parent's wish to ignore SIGPIPE the program's.
void reset_handlers() {
  struct sigaction fresh {};
  fresh.sa_handler = SIG_DFL;
  for (int signal = 1; signal < NSIG; ++signal) {
    struct sigaction now {};
    if (sigaction(signal, nullptr, &now) != 0) continue;
    if (signal == SIGPIPE || (now.sa_handler != SIG_DFL && now.sa_handler != SIG_IGN)) {
      sigaction(signal, &fresh, nullptr);
    }
  }
}

const char* prepare(const Child& child) {
  if (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0) return "can't be tied to its parent";
  // The parent may have died before the line above: then nobody will ever send the signal.
  if (getppid() != child.parent) return "has lost its parent";
  if (setpgid(0, child.start.group) != 0) return "can't join its process group";
  if (!child.cores.empty() &&
      sched_setaffinity(0, child.cores.size(), reinterpret_cast<const cpu_set_t*>(child.cores.data())) != 0) {
    return "can't be bound to its core";
  }
  if (!take_descriptors(child.start)) return "can't have its standard input and output";
  reset_handlers();
  if (sigprocmask(SIG_SETMASK, &child.start.blocked, nullptr) != 0) return "can't have its signals";
  return nullptr;
}

// Runs in the memory of the parent, which stands still until the program has begun or this returns.
__attribute__((no_sanitize("address", "undefined"))) int be_child(void* argument) {
  Child& child = *static_cast<Child*>(argument);
  child.failed_step = prepare(child);
  if (child.failed_step == nullptr) {
    execve(child.start.program.c_str(), child.arguments.data(), child.environment.data());
    child.failed_step = "can't be run";
  }
  child.reason = errno;
  return 127;
}

}  // namespace

int StartFailure::exit_code() const { return reason == ENOENT || reason == ENOTDIR ? 127 : 126; }

std::string StartFailure::to_string() const {
  const char* hint = reason == ENOEXEC  ? "; a script begins with a line like #!/bin/sh"
                     : reason == ENOENT ? " (the interpreter in its first line, if it is a script)"
                     : reason == EMFILE ? "; raise the limit with ulimit -n"
                     : reason == EAGAIN ? "; raise the limit with ulimit -u"
                                        : "";
  return fmt::format("{}: {}{}", step, std::strerror(reason), hint);
}

tl::expected<Process, StartFailure> start_process(const ProcessStart& start) {
  Child child{start, getpid(), pointers_to(start.arguments), pointers_to(start.environment), bits_of(start.cores)};
  std::vector<std::max_align_t> stack(stack_size / sizeof(std::max_align_t));
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  int handle = -1;
  const pid_t pid = clone(be_child, stack.data() + stack.size(), CLONE_VM | CLONE_VFORK | CLONE_PIDFD | SIGCHLD, &child,
                          &handle, nullptr, nullptr);
  const int reason = errno;
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  if (pid < 0) return tl::unexpected(StartFailure{reason, "can't be started"});
  Process process{pid, FileDescriptor(handle)};
  if (child.failed_step == nullptr) return process;
  waitpid(pid, nullptr, 0);
  return tl::unexpected(StartFailure{child.reason, child.failed_step});
}

}  // namespace hocket
