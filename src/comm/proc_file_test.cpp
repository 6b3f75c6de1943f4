#include "comm/proc_file.h"

#include <gmock/gmock.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <thread>

namespace hocket {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::StartsWith;

TEST(ProcFile, is_read_to_its_end) {
  EXPECT_THAT(proc_file(getpid(), "stat"), StartsWith(std::to_string(getpid()) + " ("));
  EXPECT_THAT(proc_file(getpid(), "maps"), HasSubstr("[stack]"));  // larger than a page
}

TEST(ProcFile, of_nobody_is_empty) { EXPECT_THAT(proc_file(-1, "stat"), IsEmpty()); }

// Whenever the process ends, before, between or after opening and reading.
TEST(ProcFile, of_a_process_that_ends_is_whole_or_empty) {
  std::atomic<pid_t> current{0};
  std::atomic<bool> over{false};
  std::thread reader([&] {
    while (!over) {
      const pid_t pid = current;
      const std::string stat = pid > 0 ? proc_file(pid, "stat") : std::string();
      if (!stat.empty()) {
        EXPECT_THAT(stat, StartsWith(std::to_string(pid) + " ("));
      }
    }
  });
  for (int i = 0; i < 1000; ++i) {
    const pid_t child = fork();
    if (child == 0) _exit(0);
    current = child;
    waitpid(child, nullptr, 0);
  }
  over = true;
  reader.join();
}

}  // namespace
}  // namespace hocket
