#include "on_two_hosts.h"

namespace hocket {
namespace {

using testing::HasSubstr;

constexpr std::chrono::seconds enough{30};

INSTANTIATE_TEST_SUITE_P(, OnTwoHosts, testing::Values(open_mpi, mpich), name_of);

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

TEST_P(OnTwoHosts, one_thread_can_make_all_calls_of_mpi) {
  for (const char* name : {"operators_program", "messages_program"}) {
    const RunOutcome outcome = run({"env", "HOCKET_MPI=one_thread", program(name)});
    EXPECT_EQ(outcome.exit_code, 0) << outcome.output;
    EXPECT_THAT(outcome.output, HasSubstr("right on 4 ranks"));
  }
}

TEST_P(OnTwoHosts, another_value_of_the_variable_is_named) {
  const RunOutcome outcome = run({"env", "HOCKET_MPI=two_threads", program("messages_program")});
  EXPECT_NE(outcome.exit_code, 0);
  EXPECT_THAT(outcome.output, HasSubstr("HOCKET_MPI is \"two_threads\", expected one_thread or nothing"));
}

class OwnMpi : public OnTwoHosts {
 protected:
  RunOutcome run_with(const char* level) const {
    return run({program("own_mpi_") + GetParam().name, level}, TwoHosts::Survivors::are_ended, enough);
  }
};
INSTANTIATE_TEST_SUITE_P(, OwnMpi, testing::Values(open_mpi, mpich), name_of);

TEST_P(OwnMpi, that_may_be_called_from_all_threads_is_shared_with_the_program) {
  const RunOutcome outcome = run_with("multiple");
  EXPECT_EQ(outcome.exit_code, 0);
  EXPECT_THAT(outcome.output, HasSubstr("all right"));
}

TEST_P(OwnMpi, that_may_be_called_from_one_thread_only_is_refused_with_what_to_do) {
  for (const char* level : {"serialized", "funneled"}) {
    const RunOutcome outcome = run_with(level);
    EXPECT_EQ(outcome.exit_code, 0);
    EXPECT_THAT(outcome.output, HasSubstr("call MPI_Init_thread with MPI_THREAD_MULTIPLE")) << level;
  }
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
