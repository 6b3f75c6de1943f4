#include "on_two_hosts.h"

namespace hocket {
namespace {

using testing::HasSubstr;

constexpr std::chrono::seconds enough{30};

INSTANTIATE_TEST_SUITE_P(, OnTwoHosts, testing::Values(open_mpi, mpich, gloo), name_of);

TEST_P(OnTwoHosts, every_operator_is_right) {
  const RunOutcome outcome = run({fitting("operators_program")});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.output;
  EXPECT_THAT(outcome.output, HasSubstr("21 cases right on 4 ranks"));
}

TEST_P(OnTwoHosts, messages_of_all_sizes_arrive_by_tag_and_in_order) {
  const RunOutcome outcome = run({fitting("messages_program")});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.output;
  EXPECT_THAT(outcome.output, HasSubstr("all messages right on 4 ranks"));
}

class OverMpi : public OnTwoHosts {};
INSTANTIATE_TEST_SUITE_P(, OverMpi, testing::Values(open_mpi, mpich), name_of);

TEST_P(OverMpi, one_thread_can_make_all_calls_of_mpi) {
  for (const char* name : {"operators_program", "messages_program"}) {
    const RunOutcome outcome = run({"env", "HOCKET_MPI=one_thread", program(name)});
    EXPECT_EQ(outcome.exit_code, 0) << outcome.output;
    EXPECT_THAT(outcome.output, HasSubstr("right on 4 ranks"));
  }
}

TEST_P(OverMpi, another_value_of_the_variable_is_named) {
  const RunOutcome outcome = run({"env", "HOCKET_MPI=two_threads", program("messages_program")});
  EXPECT_NE(outcome.exit_code, 0);
  EXPECT_THAT(outcome.output, HasSubstr("HOCKET_MPI is \"two_threads\", expected one_thread or nothing"));
}

class OverGloo : public OnTwoHosts {};
INSTANTIATE_TEST_SUITE_P(, OverGloo, testing::Values(gloo), name_of);

TEST_P(OverGloo, a_world_is_joined_over_a_group_that_the_program_goes_on_using) {
  const RunOutcome outcome = run({program("torch_group_program")});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.output;
  EXPECT_THAT(outcome.output, HasSubstr("the same sums by hocket and by the group itself, on 4 ranks, twice"));
}

TEST_P(OverGloo, ranks_that_do_not_come_are_named) {
  const RunOutcome outcome = run({"sh", "-c", "\"test $RANK = 1 || " + program("torch_group_program") + " 3\""});
  EXPECT_NE(outcome.exit_code, 0);
  EXPECT_THAT(outcome.output, HasSubstr("of 4 ranks these have not come in time to 10.231.0.1, port 29500: 1"));
}

TEST_P(OverGloo, a_program_without_libtorch_is_told_what_serves) {
  const RunOutcome outcome = run({program("messages_program")});
  EXPECT_NE(outcome.exit_code, 0);
  EXPECT_THAT(outcome.output, HasSubstr("start them with mpirun or srun, or with torchrun and link the program with"));
}

TEST_P(OverGloo, LongTorchrunItselfStartsTheRanks) {
  const RunOutcome outcome =
      hosts().run(hosts().torchrun(HOCKET_TEST_PYTHON, 2, {fitting("operators_program")}), 2 * enough);
  EXPECT_EQ(outcome.exit_code, 0) << outcome.output;
  EXPECT_THAT(outcome.output, HasSubstr("21 cases right on 4 ranks"));
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
  EXPECT_EQ(outcome.exit_code, 0) << outcome.output;
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
