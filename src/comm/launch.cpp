#include "comm/launch.h"

#include <fmt/ranges.h>
#include <poll.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <functional>

#include "comm/caught_signals.h"
#include "comm/cores.h"
#include "comm/exit_status.h"
#include "comm/find_program.h"
#include "comm/launched_ranks.h"
#include "comm/packet.h"
#include "comm/typed_input.h"

namespace hocket {

namespace {

using namespace std::chrono_literals;

constexpr int no_source = -1;               // of a line that the launch itself prints
constexpr auto look_again = 20ms;           // at processes that are not our children, whose end nobody tells us
constexpr auto killed_processes_need = 2s;  // to be gone; a process that hangs in the kernel is not waited for

int exit_code_of(int status) { return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status); }

double seconds(std::chrono::milliseconds time) { return static_cast<double>(time.count()) / 1000.0; }

std::string name_ranks(const std::vector<int>& ranks) {
  return fmt::format("{} {}", ranks.size() == 1 ? "rank" : "ranks", fmt::join(ranks, ", "));
}

// Everything that happens until the last process has ended, in one thread around one poll().
class Launch {
 public:
  Launch(const LaunchOptions& options, const CaughtSignals& signals, const ProcessGroup& group, TypedInput* typed)
      : options_(options),
        signals_(signals),
        group_(group),
        typed_(typed),
        targets_(options),
        all_(options, group, targets_, typed != nullptr ? typed->reader() : options.input, signals.before()) {}

  int run(const std::string& program, const MeetingPlace& place, const std::vector<std::vector<int>>& cores);

 private:
  struct Watch {
    int descriptor;
    short events;
    std::function<void()> then;
  };

  std::vector<Watch> watches();
  void wait_at_most(std::optional<std::chrono::milliseconds> time);
  std::optional<std::chrono::milliseconds> time_until_kill() const;
  void step(std::optional<std::chrono::milliseconds> at_most = std::nullopt);

  void take_signals();
  void reap(std::size_t rank);
  void end_the_others(std::size_t failed);
  void terminate_the_rest();
  void kill_the_rest();
  void close_sources_of_failed_targets();
  void wait_for_children_of_ranks();
  void print_the_rest();
  void say(const std::string& text) { targets_.errors().put(no_source, "", "hocket: " + text + "\n"); }

  const LaunchOptions& options_;
  const CaughtSignals& signals_;
  const ProcessGroup& group_;
  TypedInput* typed_;
  LaunchTargets targets_;
  LaunchedRanks all_;
  std::optional<Deadline> kill_at_;
  bool asked_to_end_ = false;  // by a signal that was passed on
  bool terminated_ = false;    // the ranks were sent SIGTERM
  bool killed_ = false;
  bool lost_output_ = false;
  bool hurry_ = false;  // the user asked for the end after the last rank had ended
  int exit_code_ = 0;   // of the first that failed
};

int Launch::run(const std::string& program, const MeetingPlace& place, const std::vector<std::vector<int>>& cores) {
  const auto started = all_.start(program, place, cores);
  if (typed_ != nullptr) typed_->close_reader();
  if (!started) {
    say(fmt::format("rank {}: {}: {}", all_.ranks().size(), program, started.error().to_string()));
    exit_code_ = started.error().exit_code();
    group_.signal(SIGKILL);
    killed_ = true;
  }
  while (!all_.all_ended()) step();
  wait_for_children_of_ranks();
  print_the_rest();
  return exit_code_;
}

void Launch::step(std::optional<std::chrono::milliseconds> at_most) {
  const auto until_kill = time_until_kill();
  wait_at_most(at_most && until_kill ? std::min(at_most, until_kill) : at_most ? at_most : until_kill);
  close_sources_of_failed_targets();
  if (!kill_at_ || std::chrono::steady_clock::now() < *kill_at_) return;
  if (terminated_ || all_.all_ended()) kill_the_rest();
  else terminate_the_rest();
}

std::optional<std::chrono::milliseconds> Launch::time_until_kill() const {
  if (!kill_at_) return std::nullopt;
  return std::chrono::milliseconds(milliseconds_until(*kill_at_));
}

std::vector<Launch::Watch> Launch::watches() {
  std::vector<Watch> all;
  all.push_back({signals_.descriptor(), POLLIN, [this] { take_signals(); }});
  for (std::size_t rank = 0; rank < all_.ranks().size(); ++rank) {
    if (all_.ranks()[rank].status) continue;
    all.push_back({all_.ranks()[rank].process.handle.number(), POLLIN, [this, rank] { reap(rank); }});
  }
  for (LineSource& source : all_.sources()) {
    if (!source.is_open() || source.target().is_full()) continue;
    all.push_back({source.descriptor(), POLLIN, [&source] { source.read_some(); }});
  }
  for (LineTarget* target : {targets_.output.get(), targets_.own_errors.get()}) {
    if (target == nullptr || !target->has_pending()) continue;
    all.push_back({target->descriptor(), POLLOUT, [target] { target->write_some(); }});
  }
  if (typed_ != nullptr) {
    all.push_back({typed_->readable(), POLLIN, [this] { typed_->read_some(); }});
    all.push_back({typed_->writable(), POLLOUT, [this] { typed_->write_some(); }});
  }
  return all;
}

void Launch::wait_at_most(std::optional<std::chrono::milliseconds> time) {
  const std::vector<Watch> all = watches();
  std::vector<pollfd> polls;
  for (const Watch& watch : all) polls.push_back({watch.descriptor, watch.events, 0});
  if (poll(polls.data(), polls.size(), time ? static_cast<int>(time->count()) : -1) <= 0) return;
  for (std::size_t i = 0; i < polls.size(); ++i) {
    if (polls[i].revents != 0) all[i].then();
  }
}

void Launch::take_signals() {
  while (const std::optional<int> signal = signals_.take()) {
    if (*signal == SIGUSR1 || *signal == SIGUSR2) {
      for (const int rank : all_.running()) {
        const Process& process = all_.ranks()[static_cast<std::size_t>(rank)].process;
        syscall(SYS_pidfd_send_signal, process.handle.number(), *signal, nullptr, 0);
      }
      continue;
    }
    group_.signal(*signal);
    if (*signal == SIGTSTP) raise(SIGSTOP);  // the shell shall see that the job was suspended
    if (*signal == SIGTSTP || *signal == SIGCONT) continue;
    asked_to_end_ = true;
    terminated_ = terminated_ || *signal == SIGTERM;
    hurry_ = all_.all_ended();
  }
}

void Launch::reap(std::size_t rank) {
  LaunchedRank& ended = all_.ranks()[rank];
  int status = 0;
  if (waitpid(ended.process.pid, &status, WNOHANG) != ended.process.pid) return;
  ended.status = status;
  const int code = exit_code_of(status);
  if (code == 0 || exit_code_ != 0) return;
  exit_code_ = code;
  end_the_others(rank);
}

void Launch::end_the_others(std::size_t failed) {
  const std::vector<int> others = all_.running();
  const LaunchedRank& rank = all_.ranks()[failed];
  const char* what_next = asked_to_end_ ? "waiting for" : "ending";
  say(fmt::format("rank {} (pid {}) {}{}", failed, rank.process.pid, describe_exit(rank.status),
                  others.empty() ? "" : fmt::format("; {} {}", what_next, name_ranks(others))));
  // Those that were asked to end may be about to, saving their work: a second signal would only disturb them.
  if (asked_to_end_) kill_at_ = std::chrono::steady_clock::now() + options_.grace;
  else terminate_the_rest();
}

void Launch::terminate_the_rest() {
  group_.signal(SIGTERM);
  group_.signal(SIGCONT);  // one that is stopped hears it, too
  terminated_ = true;
  kill_at_ = std::chrono::steady_clock::now() + options_.grace;
}

void Launch::kill_the_rest() {
  const std::vector<int> left = all_.running();
  if (!left.empty()) {
    say(fmt::format("{} did not end within {:g} s of SIGTERM: killing", name_ranks(left), seconds(options_.grace)));
  } else if (const std::vector<std::string> members = group_.members(); !members.empty()) {
    say(fmt::format("the ranks have ended and left {} running: killing", fmt::join(members, ", ")));
  }
  group_.signal(SIGKILL);
  killed_ = true;
  kill_at_.reset();
}

// As if the ranks wrote to it themselves: when the reader has gone, they get SIGPIPE.
void Launch::close_sources_of_failed_targets() {
  for (LineSource& source : all_.sources()) {
    if (source.target().failure() != 0) source.close();
  }
  const int failure = targets_.output->failure();
  if (failure == 0 || failure == EPIPE || lost_output_) return;
  lost_output_ = true;
  say(fmt::format("standard output can't be written: {}", std::strerror(failure)));
}

// What a rank has started may need a moment longer than the rank, and has something to print.
void Launch::wait_for_children_of_ranks() {
  if (!kill_at_ && !killed_) kill_at_ = std::chrono::steady_clock::now() + options_.grace;
  std::optional<Deadline> given_up;
  while (!hurry_ && !group_.members().empty()) {
    if (killed_ && !given_up) given_up = std::chrono::steady_clock::now() + killed_processes_need;
    if (given_up && std::chrono::steady_clock::now() > *given_up) break;
    step(look_again);
  }
  kill_at_.reset();
}

void Launch::print_the_rest() {
  for (LineSource& source : all_.sources()) source.finish();
  while (!hurry_ && (targets_.output->has_pending() || targets_.errors().has_pending())) step();
  const bool is_lost = targets_.output->failure() != 0 || targets_.errors().failure() != 0;
  if (is_lost && exit_code_ == 0) exit_code_ = 1;
}

}  // namespace

Result<int> launch(const LaunchOptions& options) {
  if (options.ranks < 1) return fail(ErrorKind::usage, "{} ranks can't be started, expected at least 1", options.ranks);
  if (options.command.empty()) return fail(ErrorKind::usage, "there is no program to start");
  const auto program = find_program(options.command[0], options.search);
  if (!program) {
    dprintf(options.errors, "hocket: %s\n", program.error().message.c_str());
    return program.error().exit_code;
  }
  if (!options.output_folder.empty()) {
    std::error_code error;
    std::filesystem::create_directories(options.output_folder, error);
    if (error) return fail({ErrorKind::system, "can't be made: " + error.message(), options.output_folder});
  }
  std::vector<std::vector<int>> cores;
  if (options.bind_to_cores) {
    HOCKET_TRY(cores, usable_cores());
  }
  HOCKET_TRY(const MeetingPlace place, MeetingPlace::random());
  signal(SIGCHLD, SIG_DFL);  // where whoever started us ignores it, children could not be waited for
  HOCKET_TRY(const ProcessGroup group, ProcessGroup::create());
  HOCKET_TRY(const CaughtSignals signals, CaughtSignals::create());
  std::optional<TypedInput> typed;
  if (isatty(options.input) == 1) {
    HOCKET_TRY(typed, TypedInput::create(options.input));
  }
  return Launch(options, signals, group, typed ? &*typed : nullptr).run(*program, place, cores);
}

std::vector<std::string> inherited_environment() {
  std::vector<std::string> environment;
  for (char** variable = environ; *variable != nullptr; ++variable) environment.emplace_back(*variable);
  return environment;
}

}  // namespace hocket
