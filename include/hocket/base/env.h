// Every environment variable that hocket reads. Nothing else in the project calls getenv.
#pragma once

#include <string>

namespace hocket {

// What the program that started this process left in the environment, as text; empty if absent. launch_info() of
// hocket/comm/launch_info.h makes sense of it.
struct LaunchVariables {
  // hocket launch
  std::string hocket_rank;        // HOCKET_RANK: number of this process, from 0
  std::string hocket_world_size;  // HOCKET_WORLD_SIZE: how many there are
  std::string hocket_meeting;     // HOCKET_MEETING: where they meet, and the secret that lets them in; never printed

  // torchrun, or by hand
  std::string rank;                  // RANK
  std::string world_size;            // WORLD_SIZE
  std::string local_rank;            // LOCAL_RANK: number among the processes of this host
  std::string local_world_size;      // LOCAL_WORLD_SIZE
  std::string master_addr;           // MASTER_ADDR: host of rank 0
  std::string master_port;           // MASTER_PORT
  std::string torchelastic_run;      // TORCHELASTIC_RUN_ID: only torchrun itself sets it
  std::string torchelastic_restart;  // TORCHELASTIC_RESTART_COUNT: how often it has started the ranks again
  std::string torchelastic_store;    // TORCHELASTIC_USE_AGENT_STORE: True if torchrun itself keeps the store
  std::string group_rank;            // GROUP_RANK: number of the torchrun that started this process, one for each host

  // mpirun of Open MPI
  std::string ompi_rank;        // OMPI_COMM_WORLD_RANK
  std::string ompi_size;        // OMPI_COMM_WORLD_SIZE
  std::string ompi_local_rank;  // OMPI_COMM_WORLD_LOCAL_RANK
  std::string ompi_local_size;  // OMPI_COMM_WORLD_LOCAL_SIZE
  std::string pmix_rank;        // PMIX_RANK: set by every PMIx launcher; the size is not in the environment
  std::string pmix_namespace;   // PMIX_NAMESPACE: the name of the job
  std::string pmix_server;      // PMIX_SERVER_URI2: the daemon of this host, which all its ranks have in common

  // mpiexec of MPICH and Intel MPI
  std::string pmi_rank;        // PMI_RANK
  std::string pmi_size;        // PMI_SIZE
  std::string mpi_local_rank;  // MPI_LOCALRANKID
  std::string mpi_local_size;  // MPI_LOCALNRANKS

  // srun of Slurm
  std::string slurm_rank;        // SLURM_PROCID
  std::string slurm_size;        // SLURM_NTASKS
  std::string slurm_step_size;   // SLURM_STEP_NUM_TASKS: the same for this step of the job
  std::string slurm_local_rank;  // SLURM_LOCALID
  std::string slurm_job;         // SLURM_JOB_ID
  std::string slurm_node;        // SLURM_NODEID: number of this host in the step
  std::string slurm_step_tasks;  // SLURM_STEP_TASKS_PER_NODE: ranks of each host, as "4(x2),3"
  std::string slurm_step;        // SLURM_STEP_ID: absent in a batch script, which is no task of srun
};

struct Env {
  std::string log = "warning";  // HOCKET_LOG: trace, debug, info, warning, error, off
  bool color = true;            // NO_COLOR (any value) switches colours off, as on other tools
  int columns = 0;              // COLUMNS: width of tables; 0 asks the terminal

  std::string path;  // PATH: where hocket launch looks for a program

  LaunchVariables launch;

  // HOCKET_FLIGHT: a folder; the first failure of a group leaves a report of its last calls there. Empty: no report.
  std::string flight;
  // HOCKET_MPI: one_thread makes all calls of MPI from one thread, as where the library allows no more. Empty: from any.
  std::string mpi;
  // Where hocket keeps what it has measured of this machine: HOCKET_CACHE, else XDG_CACHE_HOME/hocket, else
  // HOME/.cache/hocket. Empty if none of them is set.
  std::string cache;

  // Read once, at the first call.
  static const Env& get();
  static Env read();
};

}  // namespace hocket
