#include "comm/launcher_process.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include "support/processes.h"

namespace hocket {
namespace {

std::string found(const char* variable) {
  const Result<ProcessIdentity> process = launcher_process(variable);
  return process ? fmt::format("{} {}", process->pid, process->start) : process.error().message;
}

TEST(LauncherProcess, is_the_parent_where_that_was_started_without_the_variable) {
  const ProcessIdentity parent = launcher_process("NOBODY_SETS_THIS").value();
  EXPECT_EQ(parent.pid, getppid());
  EXPECT_GT(parent.start, 0U);
}

TEST(LauncherProcess, is_the_same_for_all_ranks) {
  const auto ranks = run_ranks(2, [](int) { return found("NOBODY_SETS_THIS"); });
  EXPECT_EQ(ranks[0].said.find(std::to_string(getpid()) + " "), 0U) << ranks[0].said;
  EXPECT_EQ(ranks[0].said, ranks[1].said);
}

// tests/launch has it with a script between launcher and rank.
TEST(LauncherProcess, looks_above_processes_that_have_the_variable) {
  const auto ranks = run_ranks(1, [](int) { return found("PATH"); });  // which the test has, too
  EXPECT_NE(ranks[0].said.find(std::to_string(getpid()) + " "), 0U) << ranks[0].said;
}

}  // namespace
}  // namespace hocket
