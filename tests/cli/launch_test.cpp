// `hocket launch` as a user runs it; src/comm/launch_test.cpp has what it does with its processes.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include <map>
#include <sstream>

#include "cli/cli_fixture.h"

namespace {

using testing::HasSubstr;

using LaunchCommand = Cli;

TEST_F(LaunchCommand, OptionsAfterTheProgramAreTheProgramsOwn) {
  EXPECT_EQ(hocket("launch -n 1 echo -n 3 --help '[a,b]' -- x").out, "[0] 3 --help [a,b] -- x");
  EXPECT_EQ(hocket("launch --ranks=1 -- echo verify").out, "[0] verify\n");
  EXPECT_EQ(hocket("launch -n1 --no-prefix echo verify").out, "verify\n");
}

TEST_F(LaunchCommand, GivesTheExitCodeOfTheRankThatFailed) {
  const Outcome outcome = hocket("launch -n 2 --grace 1 sh -c '[ $HOCKET_RANK = 0 ] || exit 42'");
  EXPECT_EQ(outcome.code, 42);
  EXPECT_THAT(outcome.err, HasSubstr("hocket: rank 1 (pid "));
  EXPECT_EQ(hocket("launch -n 1 sh -c 'kill -ABRT $$'").code, 134);
}

TEST_F(LaunchCommand, FindsTheProgramInPath) {
  write("train", "#!/bin/sh\necho trained\n");
  EXPECT_EQ(hocket("launch -n 1 ./train").code, 126);
  fs::permissions(folder_ / "train", fs::perms::owner_all);
  EXPECT_EQ(hocket("launch -n 1 ./train").out, "[0] trained\n");
  EXPECT_EQ(run("PATH=.:$PATH '" HOCKET_TEST_TOOL "' launch -n 1 train").out, "[0] trained\n");
  const Outcome outcome = hocket("launch -n 1 train");
  EXPECT_EQ(outcome.code, 127);
  EXPECT_EQ(
      outcome.err,
      "hocket: there is no program \"train\" in the folders of PATH; for the file in this folder write ./train\n");
}

TEST_F(LaunchCommand, WrongUsageExitsWithTwo) {
  for (const char* arguments :
       {"launch", "launch echo", "launch -n 2", "launch -n 0 echo", "launch -n two echo", "launch -n 1 --bind cpu echo",
        "launch -n 1 --grace -1 echo", "launch -n 1 --nope echo"}) {
    const Outcome outcome = hocket(arguments);
    EXPECT_EQ(outcome.code, 2) << arguments;
    EXPECT_FALSE(outcome.err.empty()) << arguments;
    EXPECT_EQ(outcome.out, "") << arguments;
  }
}

TEST_F(LaunchCommand, WritesFilesForEachRank) {
  EXPECT_EQ(hocket("launch -n 2 --output-dir logs sh -c 'echo $HOCKET_RANK'").out, "");
  EXPECT_EQ(read("logs/rank_0.out") + read("logs/rank_1.out"), "0\n1\n");
}

TEST_F(LaunchCommand, TheSecretIsNotOnACommandLine) {
  // Nor on that of the other rank's grep, which is looked at as well.
  const Outcome outcome = hocket(
      "launch -n 2 sh -c 'echo \"${HOCKET_MEETING#*:}\" > token.$HOCKET_RANK; "
      "cat /proc/[0-9]*/cmdline 2>/dev/null | tr \"\\0\" \"\\n\" > seen.$HOCKET_RANK; "
      "grep -c -F -f token.$HOCKET_RANK seen.$HOCKET_RANK; exit 0'");
  EXPECT_THAT(outcome.out, HasSubstr("[0] 0\n"));
  EXPECT_THAT(outcome.out, HasSubstr("[1] 0\n"));
}

// Through a pipe, which takes little at a time, with lines longer than it takes at once.
TEST_F(LaunchCommand, LinesStayWholeUnderHeavyOutput) {
  write("talk", R"(BEGIN {
    rank = ENVIRON["HOCKET_RANK"]; pad = rank; while (length(pad) < 9000) pad = pad rank;
    for (i = 0; i < 1500; ++i) {
      line = i " " substr(pad, 1, (i * 7919) % 9000);
      print line; print line > "/dev/stderr";
    }
  })");
  const Outcome outcome = run("{ { '" HOCKET_TEST_TOOL "' launch -n 4 awk -f talk | cat > out; } 2>&1 | cat > err; }");
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  for (const char* name : {"out", "err"}) {
    std::map<char, int> next;  // line of each rank: all come, in order
    std::istringstream text(read(name));
    for (std::string line; std::getline(text, line);) {
      ASSERT_GT(line.size(), 4U);
      const char rank = line[1];
      const int number = next[rank]++;
      const auto length = static_cast<std::size_t>((number * 7919) % 9000);
      ASSERT_EQ(line, fmt::format("[{}] {} {}", rank, number, std::string(length, rank)));
    }
    for (const char rank : {'0', '1', '2', '3'}) EXPECT_EQ(next[rank], 1500) << name << " of rank " << rank;
  }
}

}  // namespace
