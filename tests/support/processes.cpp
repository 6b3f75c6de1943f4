#include "support/processes.h"

#include <poll.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstdlib>

namespace hocket {

namespace {

struct Child {
  pid_t pid = -1;
  int pipe = -1;  // the end that the parent reads; -1 once the child has closed its own
};

[[noreturn]] void be_rank(int rank, int pipe, const std::function<std::string(int)>& body) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  std::string said = body(rank);
  std::size_t written = 0;
  while (written < said.size()) {
    const ssize_t count = write(pipe, said.data() + written, said.size() - written);
    if (count <= 0) _exit(3);
    written += static_cast<std::size_t>(count);
  }
  _exit(0);
}

Child start(int rank, const std::function<std::string(int)>& body) {
  int ends[2];
  if (pipe(ends) != 0) std::abort();
  std::fflush(nullptr);  // or the child would print again what the parent has not yet
  const pid_t pid = fork();
  if (pid < 0) std::abort();
  if (pid == 0) {
    close(ends[0]);
    be_rank(rank, ends[1], body);
  }
  close(ends[1]);
  return {pid, ends[0]};
}

// Appends what there is to read; closes the pipe at its end.
void read_some(Child& child, std::string& said) {
  char buffer[4096];
  const ssize_t count = read(child.pipe, buffer, sizeof buffer);
  if (count > 0) return said.append(buffer, static_cast<std::size_t>(count)), void();
  close(child.pipe);
  child.pipe = -1;
}

// True if all pipes are closed before the deadline.
bool collect(std::vector<Child>& children, std::vector<RankOutcome>& outcomes,
             std::chrono::steady_clock::time_point deadline) {
  for (;;) {
    std::vector<pollfd> polls;
    for (const Child& child : children) polls.push_back({child.pipe, POLLIN, 0});
    if (std::all_of(polls.begin(), polls.end(), [](const pollfd& one) { return one.fd < 0; })) return true;
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now());
    if (left.count() <= 0) return false;
    poll(polls.data(), polls.size(), static_cast<int>(left.count()));
    for (std::size_t i = 0; i < polls.size(); ++i) {
      if (polls[i].revents != 0) read_some(children[i], outcomes[i].said);
    }
  }
}

void reap(const Child& child, RankOutcome& outcome) {
  int status = 0;
  while (waitpid(child.pid, &status, 0) < 0 && errno == EINTR) continue;
  if (WIFEXITED(status)) outcome.exit_code = WEXITSTATUS(status);
  if (WIFSIGNALED(status)) outcome.signal = WTERMSIG(status);
}

}  // namespace

std::vector<RankOutcome> run_ranks(int count, const std::function<std::string(int)>& body,
                                   std::chrono::milliseconds timeout) {
  std::vector<Child> children;
  for (int rank = 0; rank < count; ++rank) children.push_back(start(rank, body));
  std::vector<RankOutcome> outcomes(children.size());
  const bool done = collect(children, outcomes, std::chrono::steady_clock::now() + timeout);
  for (std::size_t i = 0; i < children.size(); ++i) {
    outcomes[i].timed_out = !done && children[i].pipe >= 0;
    if (!outcomes[i].timed_out) continue;
    kill(children[i].pid, SIGKILL);
    close(children[i].pipe);
  }
  for (std::size_t i = 0; i < children.size(); ++i) reap(children[i], outcomes[i]);
  return outcomes;
}

}  // namespace hocket
