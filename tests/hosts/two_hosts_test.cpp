#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "support/namespaces.h"

namespace hocket {
namespace {

using testing::HasSubstr;

constexpr std::chrono::seconds enough{100};

const std::string program = std::string(HOCKET_TEST_PROGRAMS) + "/operators_program";

bool has_plugin(const char* file) { return std::filesystem::exists(std::string(HOCKET_MPI_FOLDER) + "/" + file); }

TEST(TwoHosts, every_operator_is_right_under_open_mpi) {
  if (!has_plugin("libhocket_mpi_openmpi.so")) GTEST_SKIP() << "hocket was built without Open MPI (libopenmpi-dev)";
  if (const std::string why = TwoHosts::impossible("mpirun.openmpi"); !why.empty()) GTEST_SKIP() << why;
  const TwoHosts hosts("1gbit", HOCKET_MPI_FOLDER);
  ASSERT_EQ(hosts.failure(), "");
  const RunOutcome outcome = hosts.run(hosts.open_mpi(2, {program}), enough);
  EXPECT_EQ(outcome.exit_code, 0) << outcome.output;
  EXPECT_THAT(outcome.output, HasSubstr("21 cases right on 4 ranks"));
}

TEST(TwoHosts, every_operator_is_right_under_mpich) {
  if (!has_plugin("libhocket_mpi_mpich.so")) GTEST_SKIP() << "hocket was built without MPICH (libmpich-dev)";
  if (const std::string why = TwoHosts::impossible("mpiexec.mpich"); !why.empty()) GTEST_SKIP() << why;
  const TwoHosts hosts("1gbit", HOCKET_MPI_FOLDER);
  ASSERT_EQ(hosts.failure(), "");
  const RunOutcome outcome = hosts.run(hosts.mpich(2, {program}), enough);
  EXPECT_EQ(outcome.exit_code, 0) << outcome.output;
  EXPECT_THAT(outcome.output, HasSubstr("21 cases right on 4 ranks"));
}

TEST(TwoHosts, a_missing_plugin_is_named_with_what_brings_it) {
  if (const std::string why = TwoHosts::impossible("mpirun.openmpi"); !why.empty()) GTEST_SKIP() << why;
  const TwoHosts hosts("1gbit", "/nowhere");
  ASSERT_EQ(hosts.failure(), "");
  const RunOutcome outcome = hosts.run(hosts.open_mpi(1, {program}), enough);
  EXPECT_NE(outcome.exit_code, 0);
  EXPECT_THAT(outcome.output, HasSubstr("libopenmpi-dev"));
  EXPECT_THAT(outcome.output, HasSubstr("HOCKET_OPEN_MPI"));
}

TEST(TwoHosts, are_gone_afterwards) {
  if (const std::string why = TwoHosts::impossible("true"); !why.empty()) GTEST_SKIP() << why;
  std::string name;
  {
    const TwoHosts hosts("1gbit");
    ASSERT_EQ(hosts.failure(), "");
    name = hosts.name(0);
    EXPECT_TRUE(std::filesystem::exists("/run/netns/" + name));
  }
  EXPECT_FALSE(std::filesystem::exists("/run/netns/" + name));
}

}  // namespace
}  // namespace hocket
