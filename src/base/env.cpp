#include "hocket/base/env.h"

#include <charconv>
#include <cstdlib>
#include <string>
#include <string_view>

namespace hocket {

namespace {

constexpr int widest_terminal = 10'000;  // beyond it the number is a mistake

// 0 for anything that is no sensible width.
int columns_from(std::string_view text) {
  int columns = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), columns);
  const bool whole = error == std::errc() && end == text.data() + text.size();
  return whole && columns > 0 && columns <= widest_terminal ? columns : 0;
}

std::string text_of(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

LaunchVariables read_launch() {
  LaunchVariables launch;
  launch.hocket_rank = text_of("HOCKET_RANK");
  launch.hocket_world_size = text_of("HOCKET_WORLD_SIZE");
  launch.hocket_meeting = text_of("HOCKET_MEETING");
  launch.rank = text_of("RANK");
  launch.world_size = text_of("WORLD_SIZE");
  launch.local_rank = text_of("LOCAL_RANK");
  launch.local_world_size = text_of("LOCAL_WORLD_SIZE");
  launch.master_addr = text_of("MASTER_ADDR");
  launch.master_port = text_of("MASTER_PORT");
  launch.torchelastic_run = text_of("TORCHELASTIC_RUN_ID");
  launch.torchelastic_restart = text_of("TORCHELASTIC_RESTART_COUNT");
  launch.torchelastic_store = text_of("TORCHELASTIC_USE_AGENT_STORE");
  launch.group_rank = text_of("GROUP_RANK");
  launch.ompi_rank = text_of("OMPI_COMM_WORLD_RANK");
  launch.ompi_size = text_of("OMPI_COMM_WORLD_SIZE");
  launch.ompi_local_rank = text_of("OMPI_COMM_WORLD_LOCAL_RANK");
  launch.ompi_local_size = text_of("OMPI_COMM_WORLD_LOCAL_SIZE");
  launch.pmix_rank = text_of("PMIX_RANK");
  launch.pmix_namespace = text_of("PMIX_NAMESPACE");
  launch.pmix_server = text_of("PMIX_SERVER_URI2");
  launch.pmi_rank = text_of("PMI_RANK");
  launch.pmi_size = text_of("PMI_SIZE");
  launch.mpi_local_rank = text_of("MPI_LOCALRANKID");
  launch.mpi_local_size = text_of("MPI_LOCALNRANKS");
  launch.slurm_rank = text_of("SLURM_PROCID");
  launch.slurm_size = text_of("SLURM_NTASKS");
  launch.slurm_step_size = text_of("SLURM_STEP_NUM_TASKS");
  launch.slurm_local_rank = text_of("SLURM_LOCALID");
  launch.slurm_job = text_of("SLURM_JOB_ID");
  launch.slurm_node = text_of("SLURM_NODEID");
  launch.slurm_step_tasks = text_of("SLURM_STEP_TASKS_PER_NODE");
  launch.slurm_step = text_of("SLURM_STEP_ID");
  return launch;
}

std::string read_cache() {
  if (std::string own = text_of("HOCKET_CACHE"); !own.empty()) return own;
  // The standard for such folders has relative ones ignored.
  if (const std::string all = text_of("XDG_CACHE_HOME"); all.starts_with('/')) return all + "/hocket";
  if (const std::string home = text_of("HOME"); !home.empty()) return home + "/.cache/hocket";
  return "";
}

}  // namespace

Env Env::read() {
  Env env;
  if (const char* log = std::getenv("HOCKET_LOG"); log != nullptr && *log != '\0') env.log = log;
  if (const char* no_color = std::getenv("NO_COLOR"); no_color != nullptr && *no_color != '\0') env.color = false;
  if (const char* columns = std::getenv("COLUMNS"); columns != nullptr) env.columns = columns_from(columns);
  env.path = text_of("PATH");
  env.launch = read_launch();
  env.mpi = text_of("HOCKET_MPI");
  env.flight = text_of("HOCKET_FLIGHT");
  env.cache = read_cache();
  return env;
}

const Env& Env::get() {
  static const Env env = read();
  return env;
}

}  // namespace hocket
