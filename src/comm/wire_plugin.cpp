#include "comm/wire_plugin.h"

#include <dlfcn.h>
#include <fmt/ranges.h>

#include <filesystem>
#include <optional>

#include "comm/wire_mpi.h"
#include "hocket/base/log.h"

namespace hocket {

namespace {

constexpr MpiPlugin open_mpi{"libhocket_mpi_openmpi.so", "Open MPI", "libopenmpi-dev", "HOCKET_OPEN_MPI"};
constexpr MpiPlugin mpich{"libhocket_mpi_mpich.so", "MPICH", "libmpich-dev", "HOCKET_MPICH"};

// Symbols are global since Open MPI loads components of its own, which look for those of the library.
void* open_at(const std::string& folder, const MpiPlugin& plugin) {
  const std::string path = folder.empty() ? plugin.file : folder + "/" + plugin.file;
  return dlopen(path.c_str(), RTLD_NOW | RTLD_GLOBAL | RTLD_NODELETE);
}

Result<const HocketMpiTable*> table_of(void* plugin, const MpiPlugin& which) {
  const auto function = reinterpret_cast<const HocketMpiTable* (*)()>(dlsym(plugin, "hocket_mpi_table"));
  if (function == nullptr) return fail(ErrorKind::system, "{} has no table of functions: build it again", which.file);
  const HocketMpiTable* table = function();
  if (table->version == hocket_mpi_table_version) return table;
  return fail(ErrorKind::system, "{} is of version {}, this hocket needs {}: install both from one build", which.file,
              table->version, static_cast<int>(hocket_mpi_table_version));
}

tl::unexpected<Error> absent(const MpiPlugin& plugin, const std::vector<std::string>& reasons) {
  return fail(ErrorKind::system,
              "the ranks were started by {}, but {} can't be loaded: install the package {} and build hocket with "
              "-D{}=ON, or start all ranks on one host with hocket launch ({})",
              plugin.library, plugin.file, plugin.package, plugin.option, fmt::join(reasons, "; "));
}

}  // namespace

std::vector<MpiPlugin> plugins_for(Launcher launcher) {
  switch (launcher) {
    case Launcher::open_mpi: return {open_mpi};
    case Launcher::mpich: return {mpich};
    case Launcher::slurm: return {open_mpi, mpich};
    case Launcher::alone:
    case Launcher::hocket:
    case Launcher::torchrun: return {};
  }
  return {};
}

std::vector<std::string> plugin_folders(const std::string& folder) {
  if (!folder.empty()) return {folder};
  std::vector<std::string> folders;
  Dl_info own{};
  if (dladdr(reinterpret_cast<const void*>(&plugin_folders), &own) != 0 && own.dli_fname != nullptr) {
    std::error_code error;
    const std::filesystem::path here = std::filesystem::canonical(own.dli_fname, error).parent_path();
    // Beside the library; the library's folder seen from an installed program; the build's, seen from a test.
    if (!error) folders = {here.string(), (here / "../lib").string(), (here / "..").string()};
  }
  folders.emplace_back();
  return folders;
}

Result<const HocketMpiTable*> load_mpi(Launcher launcher, const std::string& folder) {
  const std::vector<MpiPlugin> plugins = plugins_for(launcher);
  if (plugins.empty()) {
    return fail(
        ErrorKind::usage,
        "ranks on several hosts need MPI, but these were started by {}: start them with mpirun or srun, or with "
        "torchrun and link the program with hocket's library for libtorch (hocket::hocket), which brings gloo",
        name_of(launcher));
  }
  std::vector<std::string> reasons;
  for (const MpiPlugin& plugin : plugins) {
    for (const std::string& place : plugin_folders(folder)) {
      if (void* loaded = open_at(place, plugin); loaded != nullptr) {
        log().debug("{} through {}", plugin.library, plugin.file);
        return table_of(loaded, plugin);
      }
      reasons.emplace_back(dlerror());
    }
  }
  return absent(plugins.front(), reasons);
}

Result<std::unique_ptr<Wire>> open_wire(const LaunchInfo& info, const WireOptions& options, Deadline deadline) {
  if (const WireOpener opener = provided_wire(info.launcher)) return opener(info, deadline);
  HOCKET_TRY(const HocketMpiTable* table, load_mpi(info.launcher, options.folder));
  HOCKET_TRY(std::unique_ptr<Wire> wire, make_mpi_wire(*table, options.one_thread, deadline));
  if (wire->rank() == info.rank && wire->size() == info.world_size) return wire;
  return fail(
      ErrorKind::usage,
      "{} says rank {} of {}, the environment says {}: was the program built for another MPI than its launcher?",
      wire->name(), wire->rank(), wire->size(), info.to_string());
}

}  // namespace hocket
