#include "roster.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>

namespace hocket::comm_bench {

namespace {

using Command = std::vector<std::string>;
using Launches = Result<std::vector<Launch>>;

std::string absent_unless(const std::string& file, const std::string& otherwise) {
  return std::filesystem::exists(file) ? "" : otherwise;
}

// One launcher starts all ranks; it takes their number after `launcher`, then the program.
Recipe launched(std::string name, std::string title, Command launcher, const std::string& program,
                const std::string& otherwise) {
  Recipe recipe{std::move(name), std::move(title), absent_unless(program, otherwise), {}};
  recipe.launches = [launcher, program](const Setting& setting, const std::string& control,
                                        const std::string&) -> Launches {
    Command command = launcher;
    command.insert(command.end(), {std::to_string(setting.ranks), program, control, setting.affinity});
    return std::vector<Launch>{{command, {}}};
  };
  return recipe;
}

Recipe hocket_recipe(const RosterOptions& options) {
  const std::string program = options.programs + "/contestant_hocket";
  Recipe recipe{"hocket", "hocket", absent_unless(program, program + " was not built"), {}};
  recipe.launches = [program](const Setting& setting, const std::string& control, const std::string&) -> Launches {
    return std::vector<Launch>{{{program, std::to_string(setting.ranks), control, setting.affinity}, {}}};
  };
  return recipe;
}

// Its own choice of transport would try the network first where there is one; the ranks bind themselves to cores.
Recipe open_mpi_recipe(const RosterOptions& options) {
  return launched("open_mpi", "Open MPI",
                  {"mpirun.openmpi", "--allow-run-as-root", "--oversubscribe", "--bind-to", "none", "--mca", "pml",
                   "ob1", "--mca", "btl", "self,vader", "-np"},
                  options.programs + "/contestant_open_mpi",
                  "not built: install openmpi-bin and libopenmpi-dev, or run ./hk bench comm as root");
}

Recipe mpich_recipe(const RosterOptions& options) {
  return launched("mpich", "MPICH", {"mpiexec.mpich", "-bind-to", "none", "-n"}, options.programs + "/contestant_mpich",
                  "not built: install mpich and libmpich-dev, or run ./hk bench comm as root");
}

Recipe gloo_recipe(const RosterOptions& options) {
  Recipe recipe{"gloo",
                "gloo (torch)",
                absent_unless(options.python, fmt::format("no {}: run ./hk setup, or say --python", options.python)),
                {}};
  recipe.launches = [python = options.python](const Setting& setting, const std::string& control,
                                              const std::string& folder) -> Launches {
    std::vector<Launch> ranks;
    for (std::int32_t rank = 0; rank < setting.ranks; ++rank) {
      ranks.push_back({{python, "-B", HOCKET_SOURCE_DIR "/bench/comm/contestant_gloo.py", control, setting.affinity,
                        std::to_string(rank), std::to_string(setting.ranks), folder + "/store"},
                       {{"GLOO_SOCKET_IFNAME", "lo"}, {"OMP_NUM_THREADS", "1"}}});
    }
    return ranks;
  };
  return recipe;
}

// Both are started by Intel MPI, which is told to stay in shared memory.
Recipe intel_recipe(const RosterOptions& options, const std::string& name, std::string title) {
  Recipe recipe = launched(name, std::move(title), {options.pypi_folder + "/bin/mpiexec.hydra", "-n"},
                           options.programs + "/contestant_" + name, "not built: run ./hk bench comm --pypi");
  const auto launches = recipe.launches;
  recipe.launches = [=](const Setting& setting, const std::string& control, const std::string& folder) -> Launches {
    HOCKET_TRY(std::vector<Launch> all, launches(setting, control, folder));
    for (Launch& launch : all) {
      launch.variables = {{"I_MPI_ROOT", options.pypi_folder},
                          {"I_MPI_FABRICS", "shm"},
                          {"I_MPI_PIN", "0"},  // the ranks bind themselves to cores
                          {"CCL_LOG_LEVEL", "error"},
                          {"CCL_WORKER_OFFLOAD", "0"},  // a rank has one core
                          {"LD_LIBRARY_PATH", options.pypi_folder + "/lib"}};
    }
    return all;
  };
  return recipe;
}

}  // namespace

std::vector<Recipe> roster(const RosterOptions& options) {
  std::vector<Recipe> all = {hocket_recipe(options), open_mpi_recipe(options), mpich_recipe(options),
                             gloo_recipe(options)};
  if (options.pypi) {
    all.push_back(intel_recipe(options, "intel_mpi", "Intel MPI"));
    all.push_back(intel_recipe(options, "oneccl", "oneCCL"));
  }
  return all;
}

Recipe floor_recipe(const RosterOptions& options) {
  const std::string program = options.programs + "/contestant_floor";
  Recipe recipe{"floor", "memory floor", absent_unless(program, program + " was not built"), {}};
  recipe.launches = [program](const Setting& setting, const std::string& control, const std::string&) -> Launches {
    return std::vector<Launch>{{{program, control, setting.affinity}, {}}};
  };
  return recipe;
}

Result<std::vector<Recipe>> choose_contestants(std::vector<Recipe> recipes, const std::vector<std::string>& names) {
  if (names.empty()) return recipes;
  std::vector<std::string> known;
  for (const Recipe& recipe : recipes) known.push_back(recipe.name);
  for (const std::string& name : names) {
    if (std::find(known.begin(), known.end(), name) == known.end())
      return fail(ErrorKind::usage, "unknown contestant \"{}\", expected one of {}", name, fmt::join(known, ", "));
  }
  std::erase_if(
      recipes, [&](const Recipe& recipe) { return std::find(names.begin(), names.end(), recipe.name) == names.end(); });
  return recipes;
}

}  // namespace hocket::comm_bench
