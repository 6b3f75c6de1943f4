// How this process was started, and which of how many it is.
//
//   HOCKET_TRY(LaunchInfo info, launch_info());
//   log().debug("{}", info.to_string());  // "rank 1 of 4, started by torchrun"
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "hocket/base/env.h"
#include "hocket/base/error.h"

namespace hocket {

enum class Launcher {
  alone,     // by nobody in particular: a world of one rank
  hocket,    // hocket launch
  torchrun,  // torchrun, or RANK and WORLD_SIZE set by hand
  open_mpi,  // mpirun of Open MPI
  mpich,     // mpiexec of MPICH or Intel MPI
  slurm,     // srun
};

const char* name_of(Launcher launcher);

struct LaunchInfo {
  Launcher launcher = Launcher::alone;
  std::int32_t rank = 0;
  std::int32_t world_size = 1;
  // Among the processes of this host, where the launcher says so.
  std::optional<std::int32_t> local_rank;
  std::optional<std::int32_t> local_size;
  // Where rank 0 can be met; torchrun only, empty otherwise.
  std::string master_addr;
  std::optional<std::uint16_t> master_port;

  std::string to_string() const;
};

// The innermost launcher counts: torchrun started by srun is torchrun. Variables that are set by half, that are no
// numbers or out of range, or that contradict each other are an error that names them.
Result<LaunchInfo> launch_info(const LaunchVariables& variables = Env::get().launch);

}  // namespace hocket
