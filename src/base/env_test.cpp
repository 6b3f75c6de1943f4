#include "hocket/base/env.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace hocket {
namespace {

// Sets or unsets a variable for the length of a test.
class ScopedVariable {
 public:
  ScopedVariable(const char* name, const char* value) : name_(name) {
    if (const char* old = std::getenv(name)) old_ = old;
    set(value);
  }
  ~ScopedVariable() { set(old_ ? old_->c_str() : nullptr); }
  ScopedVariable(const ScopedVariable&) = delete;
  ScopedVariable& operator=(const ScopedVariable&) = delete;

 private:
  void set(const char* value) {
    if (value != nullptr) setenv(name_, value, 1);
    else unsetenv(name_);
  }
  const char* name_;
  std::optional<std::string> old_;
};

TEST(Env, has_defaults_where_nothing_is_set) {
  const ScopedVariable log("HOCKET_LOG", nullptr);
  const ScopedVariable color("NO_COLOR", nullptr);
  const ScopedVariable columns("COLUMNS", nullptr);
  const Env env = Env::read();
  EXPECT_EQ(env.log, "warning");
  EXPECT_TRUE(env.color);
  EXPECT_EQ(env.columns, 0);
}

TEST(Env, reads_each_variable) {
  const ScopedVariable log("HOCKET_LOG", "debug");
  const ScopedVariable color("NO_COLOR", "1");
  const ScopedVariable columns("COLUMNS", "132");
  const ScopedVariable path("PATH", "/here:/there");
  const Env env = Env::read();
  EXPECT_EQ(env.path, "/here:/there");
  EXPECT_EQ(env.log, "debug");
  EXPECT_FALSE(env.color);
  EXPECT_EQ(env.columns, 132);
}

TEST(Env, takes_an_empty_variable_for_an_absent_one) {
  const ScopedVariable log("HOCKET_LOG", "");
  const ScopedVariable color("NO_COLOR", "");
  EXPECT_EQ(Env::read().log, "warning");
  EXPECT_TRUE(Env::read().color);
}

TEST(Env, takes_columns_that_are_no_positive_number_for_unknown) {
  for (const char* text : {"wide", "", "0", "-5", "99999999999999999999", "80x"}) {
    const ScopedVariable columns("COLUMNS", text);
    EXPECT_GE(Env::read().columns, 0) << text;
    EXPECT_LE(Env::read().columns, 100'000) << text;
  }
}

TEST(Env, reads_each_variable_of_a_launcher) {
  using Field = std::string LaunchVariables::*;
  const std::vector<std::pair<const char*, Field>> fields = {
      {"HOCKET_RANK", &LaunchVariables::hocket_rank},
      {"HOCKET_WORLD_SIZE", &LaunchVariables::hocket_world_size},
      {"HOCKET_MEETING", &LaunchVariables::hocket_meeting},
      {"RANK", &LaunchVariables::rank},
      {"WORLD_SIZE", &LaunchVariables::world_size},
      {"LOCAL_RANK", &LaunchVariables::local_rank},
      {"LOCAL_WORLD_SIZE", &LaunchVariables::local_world_size},
      {"MASTER_ADDR", &LaunchVariables::master_addr},
      {"MASTER_PORT", &LaunchVariables::master_port},
      {"TORCHELASTIC_RUN_ID", &LaunchVariables::torchelastic_run},
      {"TORCHELASTIC_RESTART_COUNT", &LaunchVariables::torchelastic_restart},
      {"TORCHELASTIC_USE_AGENT_STORE", &LaunchVariables::torchelastic_store},
      {"GROUP_RANK", &LaunchVariables::group_rank},
      {"OMPI_COMM_WORLD_RANK", &LaunchVariables::ompi_rank},
      {"OMPI_COMM_WORLD_SIZE", &LaunchVariables::ompi_size},
      {"OMPI_COMM_WORLD_LOCAL_RANK", &LaunchVariables::ompi_local_rank},
      {"OMPI_COMM_WORLD_LOCAL_SIZE", &LaunchVariables::ompi_local_size},
      {"PMIX_RANK", &LaunchVariables::pmix_rank},
      {"PMIX_NAMESPACE", &LaunchVariables::pmix_namespace},
      {"PMIX_SERVER_URI2", &LaunchVariables::pmix_server},
      {"PMI_RANK", &LaunchVariables::pmi_rank},
      {"PMI_SIZE", &LaunchVariables::pmi_size},
      {"MPI_LOCALRANKID", &LaunchVariables::mpi_local_rank},
      {"MPI_LOCALNRANKS", &LaunchVariables::mpi_local_size},
      {"SLURM_PROCID", &LaunchVariables::slurm_rank},
      {"SLURM_NTASKS", &LaunchVariables::slurm_size},
      {"SLURM_STEP_NUM_TASKS", &LaunchVariables::slurm_step_size},
      {"SLURM_LOCALID", &LaunchVariables::slurm_local_rank},
      {"SLURM_JOB_ID", &LaunchVariables::slurm_job},
      {"SLURM_NODEID", &LaunchVariables::slurm_node},
      {"SLURM_STEP_TASKS_PER_NODE", &LaunchVariables::slurm_step_tasks},
      {"SLURM_STEP_ID", &LaunchVariables::slurm_step},
  };
  for (const auto& [name, field] : fields) {
    const ScopedVariable variable(name, name);
    EXPECT_EQ(Env::read().launch.*field, name);
    const ScopedVariable absent(name, nullptr);
    EXPECT_EQ(Env::read().launch.*field, "");
  }
}

TEST(Env, reads_how_mpi_is_called) {
  const ScopedVariable way("HOCKET_MPI", "one_thread");
  EXPECT_EQ(Env::read().mpi, "one_thread");
  const ScopedVariable absent("HOCKET_MPI", nullptr);
  EXPECT_EQ(Env::read().mpi, "");
}

TEST(Env, reads_the_folder_of_flight_reports) {
  const ScopedVariable folder("HOCKET_FLIGHT", "reports");
  EXPECT_EQ(Env::read().flight, "reports");
  const ScopedVariable absent("HOCKET_FLIGHT", nullptr);
  EXPECT_EQ(Env::read().flight, "");
}

TEST(Env, finds_the_cache_folder_in_the_first_of_three_variables) {
  const ScopedVariable own("HOCKET_CACHE", "here");
  const ScopedVariable all("XDG_CACHE_HOME", "/caches");
  const ScopedVariable home("HOME", "/home/me");
  EXPECT_EQ(Env::read().cache, "here");
  const ScopedVariable no_own("HOCKET_CACHE", nullptr);
  EXPECT_EQ(Env::read().cache, "/caches/hocket");
  const ScopedVariable relative("XDG_CACHE_HOME", "caches");
  EXPECT_EQ(Env::read().cache, "/home/me/.cache/hocket");
  const ScopedVariable no_home("HOME", nullptr);
  EXPECT_EQ(Env::read().cache, "");
}

TEST(Env, is_read_once) { EXPECT_EQ(&Env::get(), &Env::get()); }

}  // namespace
}  // namespace hocket
