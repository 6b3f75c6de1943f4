// Ranks that real launchers have started find each other.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include <cstdlib>
#include <sstream>

#include "cli/cli_fixture.h"

namespace {

const std::string program = HOCKET_TEST_PROGRAMS "/meet_program";

class Meet : public Cli {
 protected:
  void SetUp() override {
    Cli::SetUp();
    // A launcher around the tests is none of theirs.
    for (const char* name : {"HOCKET_RANK", "HOCKET_WORLD_SIZE", "HOCKET_MEETING", "RANK", "WORLD_SIZE", "PMI_RANK",
                             "PMI_SIZE", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"}) {
      unsetenv(name);
    }
    setenv("OMPI_ALLOW_RUN_AS_ROOT", "1", 1);
    setenv("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1", 1);
  }

  // MPICH 4.0's mpiexec ends with SIGPIPE if rank 0 is gone before it could tell it that there is no more input: in one of five launches of
  // `true` beside a busy core. Input that never comes and never ends keeps it from trying.
  std::string with_silent_input(const std::string& command) const {
    EXPECT_EQ(run("test -p silent || mkfifo silent").code, 0);
    return command + " 0<>silent";
  }

  bool has(const std::string& command) const { return run("command -v " + command).code == 0; }

  void expect_three_to_meet(const std::string& command, const std::string& launcher, const std::string& prefix = "") {
    const Outcome outcome = run("timeout 60 " + command);
    EXPECT_EQ(outcome.code, 0) << outcome.err << outcome.out;
    std::vector<std::string> expected;
    for (int rank = 0; rank < 3; ++rank) {
      expected.push_back(fmt::format("{}rank {} of 3, started by {}: met rank 0, rank 1, rank 2",
                                     prefix.empty() ? "" : fmt::format("[{}] ", rank), rank, launcher));
    }
    std::vector<std::string> lines;
    std::istringstream out(outcome.out);
    for (std::string line; std::getline(out, line);) lines.push_back(line);
    EXPECT_THAT(lines, testing::UnorderedElementsAreArray(expected)) << outcome.err;
  }
};

TEST_F(Meet, ranks_of_hocket_launch) {
  expect_three_to_meet("'" HOCKET_TEST_TOOL "' launch -n 3 '" + program + "'", "hocket launch", "[r] ");
}

// Neither where all is well nor where a rank makes a mistake, however much is logged.
TEST_F(Meet, the_secret_is_in_no_output_log_or_report) {
  const Outcome outcome = run("timeout 60 env HOCKET_LOG=trace HOCKET_FLIGHT=reports '" HOCKET_TEST_TOOL
                              "' launch -n 3 --output-dir logs "
                              "sh -c 'echo ${HOCKET_MEETING#*:} >secret; \"" +
                              program + "\"; HOCKET_WORLD_SIZE=$((3 + HOCKET_RANK % 2)) \"" + program + "\"'");
  const std::string secret = read("secret").substr(0, 64);
  ASSERT_EQ(secret.size(), 64U) << "the ranks did not get as far as to say it";
  EXPECT_EQ((outcome.out + outcome.err).find(secret), std::string::npos);
  std::size_t files = 0;
  for (const auto& entry : fs::recursive_directory_iterator(folder_)) {
    if (!entry.is_regular_file() || entry.path().filename() == "secret") continue;
    ++files;
    EXPECT_EQ(read(fs::relative(entry.path(), folder_)).find(secret), std::string::npos) << entry.path();
  }
  EXPECT_GE(files, 3U) << "nothing was logged";
}

TEST_F(Meet, ranks_of_open_mpi) {
  if (!has("mpirun.openmpi")) GTEST_SKIP() << "Open MPI is not installed: there is no mpirun.openmpi";
  expect_three_to_meet("mpirun.openmpi --oversubscribe -n 3 '" + program + "'", "Open MPI");
}

TEST_F(Meet, ranks_of_open_mpi_that_says_no_namespace) {
  if (!has("mpirun.openmpi")) GTEST_SKIP() << "Open MPI is not installed: there is no mpirun.openmpi";
  expect_three_to_meet("mpirun.openmpi --oversubscribe -n 3 sh -c \"unset PMIX_NAMESPACE; '" + program + "'; exit $?\"",
                       "Open MPI");
}

TEST_F(Meet, ranks_of_mpich) {
  if (!has("mpiexec.mpich")) GTEST_SKIP() << "MPICH is not installed: there is no mpiexec.mpich";
  expect_three_to_meet(with_silent_input("mpiexec.mpich -n 3 '" + program + "'"), "MPICH");
}

TEST_F(Meet, ranks_of_mpich_behind_a_script) {
  if (!has("mpiexec.mpich")) GTEST_SKIP() << "MPICH is not installed: there is no mpiexec.mpich";
  expect_three_to_meet(with_silent_input("mpiexec.mpich -n 3 sh -c \"'" + program + "'; exit $?\""), "MPICH");
}

TEST_F(Meet, two_launches_at_once_do_not_meet_each_other) {
  if (!has("mpiexec.mpich")) GTEST_SKIP() << "MPICH is not installed: there is no mpiexec.mpich";
  const std::string launch = with_silent_input("timeout 60 mpiexec.mpich -n 3 '" + program + "'");
  const Outcome outcome = run("sh -c \"" + launch + " & " + launch + " && wait \\$!\"");
  EXPECT_EQ(outcome.code, 0) << outcome.err << outcome.out;
  std::size_t met = 0;
  for (std::size_t at = 0; (at = outcome.out.find(": met rank 0, rank 1, rank 2\n", at)) != std::string::npos; ++at)
    ++met;
  EXPECT_EQ(met, 6U) << outcome.out;
}

// As torchrun starts them; it takes seconds to start itself.
TEST_F(Meet, ranks_with_the_variables_of_torchrun) {
  expect_three_to_meet(
      "sh -c \"export WORLD_SIZE=3 LOCAL_WORLD_SIZE=3 MASTER_ADDR=127.0.0.1 MASTER_PORT=29511 TORCHELASTIC_RUN_ID=$$ "
      "TORCHELASTIC_RESTART_COUNT=0 GROUP_RANK=0; RANK=0 LOCAL_RANK=0 '" +
          program + "' & RANK=1 LOCAL_RANK=1 '" + program + "' & RANK=2 LOCAL_RANK=2 '" + program + "' & wait\"",
      "torchrun");
}

TEST_F(Meet, a_rank_alone_meets_itself) {
  EXPECT_EQ(run("'" + program + "'").out, "rank 0 of 1, started alone: met rank 0\n");
}

}  // namespace
