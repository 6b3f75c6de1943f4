#include "comm/broken_pipes.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

namespace hocket {
namespace {

// Puts back what was before.
class BrokenPipes : public testing::Test {
 protected:
  BrokenPipes() { sigaction(SIGPIPE, nullptr, &before_); }
  ~BrokenPipes() override { sigaction(SIGPIPE, &before_, nullptr); }

  static ssize_t write_to_nobody() {
    int ends[2];
    if (pipe(ends) != 0) return 0;
    close(ends[0]);
    const ssize_t written = write(ends[1], "x", 1);
    close(ends[1]);
    return written;
  }

 private:
  struct sigaction before_ {};
};

TEST_F(BrokenPipes, end_nobody_who_does_not_ask_for_it) {
  signal(SIGPIPE, SIG_DFL);
  ignore_broken_pipes();
  EXPECT_EQ(write_to_nobody(), -1);
  EXPECT_EQ(errno, EPIPE);
}

int heard = 0;

TEST_F(BrokenPipes, are_left_to_a_program_that_handles_them) {
  heard = 0;
  signal(SIGPIPE, [](int) { ++heard; });
  ignore_broken_pipes();
  EXPECT_EQ(write_to_nobody(), -1);
  EXPECT_EQ(heard, 1);
  struct sigaction with_details {};
  with_details.sa_flags = SA_SIGINFO;
  with_details.sa_sigaction = [](int, siginfo_t*, void*) { ++heard; };
  sigaction(SIGPIPE, &with_details, nullptr);
  ignore_broken_pipes();
  EXPECT_EQ(write_to_nobody(), -1);
  EXPECT_EQ(heard, 2);
}

}  // namespace
}  // namespace hocket
