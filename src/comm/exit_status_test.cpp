#include "comm/exit_status.h"

#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <sys/wait.h>

#include <cstdio>

namespace hocket {
namespace {

TEST(ExitStatus, is_put_in_words) {
  EXPECT_EQ(describe_exit(std::nullopt), "ended");
  EXPECT_EQ(describe_exit(3 << 8), "exited with code 3");
  EXPECT_EQ(describe_exit(SIGTERM), "was killed by signal 15 (Terminated)");
}

// The kernel keeps it for those that have a pidfd since 6.15.
bool kernel_remembers_the_reaped() {
  utsname names{};
  int major = 0;
  int minor = 0;
  if (uname(&names) != 0 || std::sscanf(names.release, "%d.%d", &major, &minor) != 2) return false;
  return major > 6 || (major == 6 && minor >= 15);
}

void expect_status_of(void (*end)(), int expected) {
  const pid_t pid = fork();
  ASSERT_GE(pid, 0);
  if (pid == 0) {
    end();
    _exit(0);
  }
  const FileDescriptor process(static_cast<int>(syscall(SYS_pidfd_open, pid, 0)));
  ASSERT_TRUE(process.valid());
  pollfd one{process.number(), POLLIN, 0};
  ASSERT_EQ(poll(&one, 1, 5'000), 1);
  EXPECT_EQ(exit_status(pid, process), expected) << "before it was reaped";
  ASSERT_EQ(waitpid(pid, nullptr, 0), pid);
  const auto reaped = exit_status(pid, process);
  if (kernel_remembers_the_reaped()) EXPECT_EQ(reaped, expected);
  else EXPECT_TRUE(!reaped || *reaped == expected);
}

TEST(ExitStatus, is_known_before_and_after_the_process_was_reaped) {
  expect_status_of([] { raise(SIGKILL); }, SIGKILL);
  expect_status_of([] { _exit(3); }, 3 << 8);
  expect_status_of([] {}, 0);
}

}  // namespace
}  // namespace hocket
