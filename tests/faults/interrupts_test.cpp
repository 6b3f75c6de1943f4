// Signals rain on every thread of every rank, thousands a second, and interrupt whatever system call each is in: nothing fails.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <charconv>
#include <filesystem>

#include "compiled_step.h"
#include "hocket/base/file.h"
#include "launched.h"
#include "planned_call.h"
#include "support/temporary_folder.h"

namespace hocket {
namespace {

using namespace std::chrono_literals;

constexpr int ranks = 3;

std::atomic<std::int64_t> interrupted = 0;  // signal handlers that ran in this process

// Interrupts all other threads of this process, again and again.
class Storm {
 public:
  Storm() {
    struct sigaction action {};
    action.sa_handler = [](int) { ++interrupted; };  // and no SA_RESTART
    sigaction(SIGUSR1, &action, nullptr);
    thread_ = std::thread([this] { rage(); });
  }
  ~Storm() {
    stop_ = true;
    thread_.join();
  }

 private:
  void rage() {
    const auto self = static_cast<pid_t>(syscall(SYS_gettid));
    while (!stop_) {
      std::error_code gone;  // threads come and go
      for (const auto& entry : std::filesystem::directory_iterator("/proc/self/task", gone)) {
        const std::string name = entry.path().filename();
        pid_t thread = 0;
        std::from_chars(name.data(), name.data() + name.size(), thread);
        if (thread != self) syscall(SYS_tgkill, getpid(), thread, SIGUSR1);
      }
      std::this_thread::sleep_for(100us);
    }
  }
  std::atomic<bool> stop_ = false;
  std::thread thread_;
};

// All kinds of calls, each asynchronous or blocking.
Status communicate(const Communicator& group, int calls) {
  for (int number = 0; number < calls; ++number) {
    Random random(static_cast<std::uint64_t>(number));
    const MadeCall call(random.chance(30) ? random_message(random, ranks) : random_call(random, ranks), group);
    HOCKET_CHECK(call.work.wait());
    if (!call.is_right()) return fail(ErrorKind::internal, "wrong result of {}", call.plan().to_string());
  }
  return {};
}

Status compute(const CompiledStep& step, const World& world, int runs) {
  StepRunner runner(step, world);
  for (int number = 0; number < runs; ++number) {
    HOCKET_CHECK(runner.run(number));
    if (!runner.is_right(number)) return fail(ErrorKind::internal, "run {} gave wrong values", number);
  }
  return {};
}

// Through a pipe that takes little at a time, so that writing has to wait.
Status read_and_write(const std::string& folder, int rank) {
  const std::string content(3'000'000, static_cast<char>('a' + rank));
  const std::string path = fmt::format("{}/rank{}", folder, rank);
  HOCKET_CHECK(write_file(path, content));
  HOCKET_TRY(const std::string back, read_file(path));
  if (back != content) return fail(ErrorKind::internal, "the file has other content");
  int ends[2];
  if (pipe(ends) != 0) return fail(ErrorKind::system, "no pipe");
  Status written;
  std::thread writer([&] {
    written = write_file(fmt::format("/proc/self/fd/{}", ends[1]), content);
    close(ends[1]);
  });
  const Result<std::string> read = read_file(fmt::format("/proc/self/fd/{}", ends[0]));
  close(ends[0]);
  writer.join();
  HOCKET_CHECK(std::move(written));
  if (!read) return fail(read.error());
  return *read == content ? Status() : fail(ErrorKind::internal, "the pipe gave other content");
}

TEST(Interrupts, that_rain_on_all_threads_make_nothing_fail) {
  const TemporaryFolder folder;
  const CompiledStep step(7, ranks);
  const auto outcomes = run_launched(
      ranks,
      [&](int rank) -> std::string {
        const Storm storm;
        const Result<World> world = World::join();
        if (!world) return world.error().to_string();
        const Result<Communicator> group = world->communicator();
        if (!group) return group.error().to_string();
        if (const Status status = communicate(*group, 300); !status) return status.error().to_string();
        if (const Status status = compute(step, *world, 50); !status) return status.error().to_string();
        if (const Status status = read_and_write(folder.path(), rank); !status) return status.error().to_string();
        return interrupted > 100 ? "well" : fmt::format("only {} interrupts", interrupted.load());
      },
      100s);
  for (const RankOutcome& outcome : outcomes) EXPECT_EQ(outcome.said, "well");
}

}  // namespace
}  // namespace hocket
