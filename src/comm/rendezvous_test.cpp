#include "comm/rendezvous.h"

#include <gtest/gtest.h>

#include <set>

namespace hocket {
namespace {

LaunchVariables torchrun() {
  LaunchVariables from;
  from.rank = "1";
  from.world_size = "2";
  from.local_rank = "1";
  from.local_world_size = "2";
  from.master_addr = "127.0.0.1";
  from.master_port = "29500";
  from.torchelastic_run = "run";
  from.torchelastic_restart = "0";
  from.group_rank = "0";
  return from;
}

LaunchVariables slurm() {
  LaunchVariables from;
  from.slurm_rank = "1";
  from.slurm_size = "2";
  from.slurm_job = "77";
  from.slurm_step = "3";
  return from;
}

LaunchVariables open_mpi() {
  LaunchVariables from;
  from.ompi_rank = "1";
  from.ompi_size = "2";
  from.pmix_namespace = "1668284417";
  from.pmix_server = "1668284416.0;tcp4://127.0.0.1:38223";
  return from;
}

Result<MeetingPlace> place_of(const LaunchVariables& from) {
  HOCKET_TRY(const LaunchInfo info, launch_info(from));
  return meeting_place(info, from);
}

std::string text_of(const LaunchVariables& from) {
  const Result<MeetingPlace> place = place_of(from);
  return place ? to_variable(*place) : place.error().message;
}

std::string host_of(const LaunchVariables& from) {
  const Result<bool> one = on_one_host(launch_info(from).value());
  return !one ? one.error().message : *one ? "one" : "several";
}

TEST(Rendezvous, the_variable_of_hocket_launch_survives) {
  const MeetingPlace place = MeetingPlace::random().value();
  const MeetingPlace again = from_variable(to_variable(place)).value();
  EXPECT_EQ(again.name, place.name);
  EXPECT_EQ(again.token, place.token);
}

TEST(Rendezvous, hocket_launch_says_the_place) {
  LaunchVariables from;
  from.hocket_rank = "1";
  from.hocket_world_size = "2";
  from.hocket_meeting = to_variable(MeetingPlace::random().value());
  EXPECT_EQ(text_of(from), from.hocket_meeting);
}

TEST(Rendezvous, a_malformed_variable_is_named_and_its_secret_is_not_told) {
  const std::string secret = "5ec2e7";
  const std::string rest(58, '0');
  const std::vector<std::string> malformed = {"",
                                              secret,
                                              ":" + secret + rest,
                                              "a:" + secret,
                                              "a:" + secret + rest + "00",
                                              std::string(200, 'n') + ":" + secret + rest,
                                              "a:" + secret + rest.substr(1) + "x",
                                              "a:" + secret + rest.substr(2) + "+1"};
  for (const std::string& text : malformed) {
    const Result<MeetingPlace> place = from_variable(text);
    ASSERT_FALSE(place) << text;
    EXPECT_EQ(place.error().message.find("HOCKET_MEETING is malformed ("), 0U) << place.error().message;
    EXPECT_EQ(place.error().message.find(secret), std::string::npos) << place.error().message;
  }
}

TEST(Rendezvous, all_ranks_of_a_launch_get_the_same_place) {
  for (LaunchVariables from : {torchrun(), slurm(), open_mpi()}) {
    const std::string place = text_of(from);
    EXPECT_EQ(place.find("hocket-"), 0U) << place;
    for (std::string* rank : {&from.rank, &from.local_rank, &from.slurm_rank, &from.ompi_rank}) {
      if (!rank->empty()) *rank = "0";
    }
    EXPECT_EQ(text_of(from), place);
  }
}

TEST(Rendezvous, every_other_launch_has_another_place) {
  std::vector<LaunchVariables> launches = {torchrun(), slurm(), open_mpi()};
  using Field = std::string LaunchVariables::*;
  for (const Field field :
       {&LaunchVariables::master_addr, &LaunchVariables::master_port, &LaunchVariables::world_size,
        &LaunchVariables::torchelastic_run, &LaunchVariables::torchelastic_restart, &LaunchVariables::group_rank}) {
    launches.push_back(torchrun());
    launches.back().*field = "9";
  }
  for (const Field field : {&LaunchVariables::slurm_job, &LaunchVariables::slurm_step, &LaunchVariables::slurm_size}) {
    launches.push_back(slurm());
    launches.back().*field = "9";
  }
  for (const Field field : {&LaunchVariables::pmix_namespace, &LaunchVariables::pmix_server}) {
    launches.push_back(open_mpi());
    launches.back().*field = "9";
  }
  std::set<std::string> names;
  std::set<std::string> tokens;
  for (const LaunchVariables& launch : launches) {
    const MeetingPlace place = place_of(launch).value();
    names.insert(place.name);
    tokens.insert(to_variable(place).substr(place.name.size()));
  }
  EXPECT_EQ(names.size(), launches.size());
  EXPECT_EQ(tokens.size(), launches.size());
}

TEST(Rendezvous, a_rank_alone_shares_its_place_with_nobody) {
  EXPECT_NE(text_of({}), text_of({}));
  LaunchVariables one = torchrun();
  one.rank = one.local_rank = "0";
  one.world_size = one.local_world_size = "1";
  EXPECT_NE(text_of(one), text_of(one));
}

TEST(Rendezvous, says_what_a_launcher_has_left_out) {
  LaunchVariables from = torchrun();
  from.master_addr = from.master_port = "";
  EXPECT_EQ(text_of(from),
            "RANK and WORLD_SIZE are set but MASTER_ADDR and MASTER_PORT are not: set them to the host of rank 0 and a "
            "port, the same on all ranks");
  from = slurm();
  from.slurm_job = "";
  EXPECT_EQ(text_of(from), "SLURM_STEP_ID is set (3) but SLURM_JOB_ID is not: start with srun");
}

TEST(Rendezvous, the_launcher_says_whether_all_ranks_are_on_one_host) {
  EXPECT_EQ(host_of({}), "one");
  EXPECT_EQ(host_of(torchrun()), "one");
  LaunchVariables two = torchrun();
  two.world_size = "4";
  EXPECT_EQ(host_of(two), "several");
  two.local_world_size = "";
  EXPECT_EQ(host_of(two),
            "torchrun has started 4 ranks but doesn't say how many of them are on this host: set LOCAL_RANK and "
            "LOCAL_WORLD_SIZE for each rank");
  LaunchVariables from = slurm();
  EXPECT_EQ(host_of(from),
            "Slurm has started 2 ranks but doesn't say how many of them are on this host: set SLURM_LOCALID, "
            "SLURM_NODEID and SLURM_STEP_TASKS_PER_NODE for each rank");
  from.slurm_node = "0";
  from.slurm_step_tasks = "2";
  EXPECT_EQ(host_of(from), "one");
  from.slurm_step_tasks = "1(x2)";
  EXPECT_EQ(host_of(from), "several");
}

}  // namespace
}  // namespace hocket
