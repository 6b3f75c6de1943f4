#include "hocket/comm/launch_info.h"

#include <gtest/gtest.h>

namespace hocket {
namespace {

std::string said(const LaunchVariables& variables) {
  const Result<LaunchInfo> info = launch_info(variables);
  return info ? info->to_string() : info.error().message;
}

LaunchVariables torchrun(const char* rank, const char* size) {
  LaunchVariables variables;
  variables.rank = rank;
  variables.world_size = size;
  return variables;
}

TEST(LaunchInfo, an_empty_environment_is_a_world_of_one) {
  EXPECT_EQ(said({}), "rank 0 of 1, started alone");
  EXPECT_EQ(launch_info({})->launcher, Launcher::alone);
}

TEST(LaunchInfo, reads_torchrun) {
  LaunchVariables variables = torchrun("5", "8");
  variables.local_rank = "1";
  variables.local_world_size = "4";
  variables.master_addr = "node0";
  variables.master_port = "29500";
  const LaunchInfo info = launch_info(variables).value();
  EXPECT_EQ(info.to_string(), "rank 5 of 8, started by torchrun");
  EXPECT_EQ(info.local_rank, 1);
  EXPECT_EQ(info.local_size, 4);
  EXPECT_EQ(info.master_addr, "node0");
  EXPECT_EQ(info.master_port, 29'500);
}

TEST(LaunchInfo, reads_open_mpi_mpich_slurm_and_hocket) {
  LaunchVariables open_mpi;
  open_mpi.ompi_rank = "3";
  open_mpi.ompi_size = "4";
  open_mpi.ompi_local_rank = "1";
  open_mpi.ompi_local_size = "2";
  open_mpi.pmix_rank = "3";
  EXPECT_EQ(said(open_mpi), "rank 3 of 4, started by Open MPI");
  EXPECT_EQ(launch_info(open_mpi)->local_size, 2);

  LaunchVariables mpich;
  mpich.pmi_rank = "0";
  mpich.pmi_size = "2";
  EXPECT_EQ(said(mpich), "rank 0 of 2, started by MPICH");

  LaunchVariables slurm;
  slurm.slurm_rank = "2";
  slurm.slurm_size = "16";
  slurm.slurm_step = "0";
  slurm.slurm_local_rank = "2";
  EXPECT_EQ(said(slurm), "rank 2 of 16, started by Slurm");
  slurm.slurm_step_size = "3";
  EXPECT_EQ(said(slurm), "rank 2 of 3, started by Slurm");
  EXPECT_EQ(launch_info(slurm)->local_rank, 2);

  LaunchVariables own;
  own.hocket_rank = "1";
  own.hocket_world_size = "2";
  own.hocket_meeting = "here:" + std::string(64, 'a');
  EXPECT_EQ(said(own), "rank 1 of 2, started by hocket launch");
  EXPECT_EQ(launch_info(own)->local_rank, 1);
}

TEST(LaunchInfo, slurm_says_how_many_ranks_are_on_this_host) {
  LaunchVariables slurm;
  slurm.slurm_rank = "6";
  slurm.slurm_size = "7";
  slurm.slurm_step = "0";
  slurm.slurm_local_rank = "2";
  slurm.slurm_step_tasks = "4,3";
  EXPECT_EQ(launch_info(slurm)->local_size, std::nullopt);
  slurm.slurm_node = "1";
  EXPECT_EQ(launch_info(slurm)->local_size, 3);
  slurm.slurm_local_rank = "3";
  EXPECT_EQ(said(slurm), "SLURM_LOCALID is \"3\", expected a number from 0 to 2");
  slurm.slurm_step_tasks = "7";
  EXPECT_EQ(
      said(slurm),
      "SLURM_STEP_TASKS_PER_NODE is \"7\", expected the ranks of each host, as 4(x2),3, with host 1 among them and "
      "7 ranks in all");
}

TEST(LaunchInfo, hocket_launch_sets_the_meeting_with_the_rank) {
  LaunchVariables own;
  own.hocket_rank = "1";
  own.hocket_world_size = "2";
  EXPECT_EQ(said(own), "HOCKET_RANK is set (1) but HOCKET_MEETING is not: start with hocket launch, which sets both");
  own.hocket_meeting = "here:secret";
  EXPECT_EQ(said(own),
            "HOCKET_MEETING is malformed (a token of 6 digits, expected 64): start with hocket launch, which sets it");
  own.hocket_rank = own.hocket_world_size = "";
  EXPECT_EQ(said(own),
            "HOCKET_MEETING is set but HOCKET_RANK and HOCKET_WORLD_SIZE are not: start with hocket launch, which sets "
            "all three, or unset it");
}

TEST(LaunchInfo, a_batch_script_of_slurm_runs_alone) {
  LaunchVariables batch;
  batch.slurm_rank = "0";
  batch.slurm_size = "16";
  EXPECT_EQ(said(batch), "rank 0 of 1, started alone");
}

TEST(LaunchInfo, the_innermost_launcher_counts) {
  LaunchVariables variables = torchrun("3", "8");
  variables.slurm_rank = "1";
  variables.slurm_size = "2";
  variables.slurm_step = "0";
  EXPECT_EQ(said(variables), "rank 3 of 8, started by torchrun");
  variables.ompi_rank = "1";
  variables.ompi_size = "2";
  variables.torchelastic_run = "none";
  EXPECT_EQ(said(variables), "rank 3 of 8, started by torchrun");
  variables.hocket_rank = "0";
  variables.hocket_world_size = "1";
  EXPECT_EQ(said(variables), "rank 0 of 1, started by hocket launch");
}

TEST(LaunchInfo, names_a_variable_that_is_missing) {
  EXPECT_EQ(said(torchrun("1", "")), "RANK is set (1) but WORLD_SIZE is not: set both, or unset both to run alone");
  EXPECT_EQ(said(torchrun("", "2")), "WORLD_SIZE is set (2) but RANK is not: set both, or unset both to run alone");
  LaunchVariables no_port = torchrun("0", "2");
  no_port.master_addr = "node0";
  EXPECT_EQ(said(no_port), "MASTER_ADDR is set but MASTER_PORT is not: rank 0 is met at both");
  LaunchVariables pmix;
  pmix.pmix_rank = "1";
  EXPECT_EQ(said(pmix),
            "PMIX_RANK is set (1) but no number of ranks: start with mpirun, srun, torchrun or hocket launch, or set "
            "RANK and WORLD_SIZE");
}

TEST(LaunchInfo, names_a_variable_that_is_no_number_or_out_of_range) {
  EXPECT_EQ(said(torchrun("one", "2")), "RANK is \"one\", expected a number from 0 to 1");
  EXPECT_EQ(said(torchrun("2", "2")), "RANK is \"2\", expected a number from 0 to 1");
  EXPECT_EQ(said(torchrun("-1", "2")), "RANK is \"-1\", expected a number from 0 to 1");
  EXPECT_EQ(said(torchrun("0", "0")), "WORLD_SIZE is \"0\", expected a number of at least 1");
  EXPECT_EQ(said(torchrun("0", "2x")), "WORLD_SIZE is \"2x\", expected a number of at least 1");
  EXPECT_EQ(said(torchrun("0", "99999999999")), "WORLD_SIZE is \"99999999999\", expected a number of at least 1");
  LaunchVariables variables = torchrun("0", "4");
  variables.local_world_size = "2";
  variables.local_rank = "2";
  EXPECT_EQ(said(variables), "LOCAL_RANK is \"2\", expected a number from 0 to 1");
  variables.local_world_size = "5";
  EXPECT_EQ(said(variables), "LOCAL_WORLD_SIZE is \"5\", expected a number from 1 to 4");
  LaunchVariables port = torchrun("0", "2");
  port.master_addr = "node0";
  port.master_port = "65536";
  EXPECT_EQ(said(port), "MASTER_PORT is \"65536\", expected a number from 1 to 65535");
}

TEST(LaunchInfo, names_variables_that_contradict_each_other) {
  LaunchVariables variables = torchrun("1", "2");
  variables.ompi_rank = "1";
  variables.ompi_size = "2";
  EXPECT_EQ(said(variables), "rank 1 of 2, started by torchrun");
  variables.ompi_rank = "0";
  EXPECT_EQ(said(variables),
            "RANK=1 and WORLD_SIZE=2 contradict OMPI_COMM_WORLD_RANK=0 and OMPI_COMM_WORLD_SIZE=2: unset those that "
            "were not set by the program's launcher");
}

}  // namespace
}  // namespace hocket
