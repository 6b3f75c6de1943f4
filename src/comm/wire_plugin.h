// Finds and loads the plugin for an MPI library.
#pragma once

#include <string>
#include <vector>

#include "comm/mpi/mpi_table.h"
#include "hocket/base/error.h"
#include "hocket/comm/launch_info.h"

namespace hocket {

struct MpiPlugin {
  const char* file;     // "libhocket_mpi_openmpi.so"
  const char* library;  // "Open MPI"
  const char* package;  // of Debian, that it is built with
  const char* option;   // of CMake, that builds it
};

// Which plugins can talk to that launcher, the likelier first; none for launchers that are not MPI's.
std::vector<MpiPlugin> plugins_for(Launcher launcher);

// Where plugins may be: `folder` alone if it is given, otherwise near hocket's own library or program, and at last where the
// dynamic linker looks (an empty path).
std::vector<std::string> plugin_folders(const std::string& folder);

// The first plugin for the launcher that is there. It stays loaded for ever: MPI libraries can't be unloaded.
Result<const HocketMpiTable*> load_mpi(Launcher launcher, const std::string& folder);

}  // namespace hocket
