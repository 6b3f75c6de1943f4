#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <optional>

#include "support/namespaces.h"

namespace hocket {
namespace {

using testing::HasSubstr;

constexpr std::chrono::seconds enough{100};

std::string program(const char* name) { return std::string(HOCKET_TEST_PROGRAMS) + "/" + name; }

// What differs between the MPI libraries.
struct Mpi {
  const char* name;
  const char* launcher;
  const char* plugin;
  const char* package;
  std::vector<std::string> (TwoHosts::*command)(int, const std::vector<std::string>&) const;
};
const Mpi open_mpi{"open_mpi", "mpirun.openmpi", "libhocket_mpi_openmpi.so", "libopenmpi-dev", &TwoHosts::open_mpi};
const Mpi mpich{"mpich", "mpiexec.mpich", "libhocket_mpi_mpich.so", "libmpich-dev", &TwoHosts::mpich};

class OnTwoHosts : public testing::TestWithParam<Mpi> {
 protected:
  void SetUp() override {
    if (!std::filesystem::exists(std::string(HOCKET_MPI_FOLDER) + "/" + GetParam().plugin)) {
      GTEST_SKIP() << "hocket was built without " << GetParam().package;
    }
    if (const std::string why = TwoHosts::impossible(GetParam().launcher); !why.empty()) GTEST_SKIP() << why;
    hosts_.emplace("1gbit", HOCKET_MPI_FOLDER);
    ASSERT_EQ(hosts_->failure(), "");
  }
  // With two ranks on each host.
  RunOutcome run(const std::vector<std::string>& words) const {
    return hosts_->run(((*hosts_).*GetParam().command)(2, words), enough);
  }

 private:
  std::optional<TwoHosts> hosts_;
};

INSTANTIATE_TEST_SUITE_P(, OnTwoHosts, testing::Values(open_mpi, mpich),
                         [](const auto& one) { return std::string(one.param.name); });

TEST_P(OnTwoHosts, every_operator_is_right) {
  const RunOutcome outcome = run({program("operators_program")});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.output;
  EXPECT_THAT(outcome.output, HasSubstr("21 cases right on 4 ranks"));
}

TEST_P(OnTwoHosts, messages_of_all_sizes_arrive_by_tag_and_in_order) {
  const RunOutcome outcome = run({program("messages_program")});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.output;
  EXPECT_THAT(outcome.output, HasSubstr("all messages right on 4 ranks"));
}

TEST(TwoHosts, a_missing_plugin_is_named_with_what_brings_it) {
  if (const std::string why = TwoHosts::impossible("mpirun.openmpi"); !why.empty()) GTEST_SKIP() << why;
  const TwoHosts hosts("1gbit", "/nowhere");
  ASSERT_EQ(hosts.failure(), "");
  const RunOutcome outcome = hosts.run(hosts.open_mpi(1, {program("operators_program")}), enough);
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
