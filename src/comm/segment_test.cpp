#include "comm/segment.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>

namespace hocket {
namespace {

using testing::HasSubstr;

constexpr std::int64_t bytes = std::int64_t{1} << 20;

TEST(Segment, keeps_its_size_whoever_has_it) {
  const FileDescriptor segment = make_segment(bytes).value();
  EXPECT_TRUE(check_segment(segment, bytes));
  for (const std::int64_t other : {std::int64_t{0}, bytes / 2, bytes * 2}) {
    EXPECT_EQ(ftruncate(segment.number(), other), -1) << other;
    EXPECT_EQ(errno, EPERM) << other;
  }
  EXPECT_EQ(fcntl(segment.number(), F_ADD_SEALS, F_SEAL_WRITE), -1) << "nor can a peer make it read-only";
}

TEST(Segment, that_could_vanish_or_be_opened_by_others_is_refused) {
  const auto other = [](mode_t mode, std::int64_t size, int seals) {
    FileDescriptor made(memfd_create("test", MFD_CLOEXEC | MFD_ALLOW_SEALING));
    EXPECT_EQ(fchmod(made.number(), mode), 0);
    EXPECT_EQ(ftruncate(made.number(), size), 0);
    EXPECT_EQ(fcntl(made.number(), F_ADD_SEALS, seals), 0);
    return check_segment(made, bytes).error().message;
  };
  constexpr int sealed = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;
  EXPECT_THAT(other(0600, bytes / 2, sealed), HasSubstr("has 524288 bytes, expected 1048576"));
  EXPECT_THAT(other(0600, bytes, F_SEAL_GROW), HasSubstr("is not sealed"));
  EXPECT_THAT(other(0666, bytes, sealed), HasSubstr("has mode 666, expected 600"));
}

// By /proc a process can open the files of another one, as far as their modes allow it.
TEST(Segment, of_one_user_can_not_be_opened_by_another) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can become another user";
  const FileDescriptor segment = make_segment(bytes).value();
  const std::string path = fmt::format("/proc/{}/fd/{}", getpid(), segment.number());
  const pid_t child = fork();
  if (child == 0) {
    constexpr uid_t nobody = 65534;
    if (setgid(nobody) != 0 || setuid(nobody) != 0) _exit(2);
    _exit(open(path.c_str(), O_RDWR) < 0 && open(path.c_str(), O_RDONLY) < 0 && errno == EACCES ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
}

}  // namespace
}  // namespace hocket
