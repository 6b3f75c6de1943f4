// all_reduce of 16 MiB over two hosts of two ranks each with 1 Gbit/s between them, against Open MPI and against the link itself.
//
//   hosts_bench [ROUNDS]
#include <fmt/format.h>

#include <filesystem>
#include <map>
#include <sstream>

#include "support/namespaces.h"

namespace {

struct Times {
  double least = 0;
  double median = 0;
};

std::map<std::string, Times> parse(const std::string& output) {
  std::map<std::string, Times> times;
  std::istringstream lines(output);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string name;
    Times one;
    if (words >> name >> one.least >> one.median) times[name] = one;
  }
  return times;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string rounds = argc > 1 ? argv[1] : "10";
  if (const std::string why = hocket::TwoHosts::impossible("mpirun.openmpi"); !why.empty()) {
    fmt::print("not measured: {}\n", why);
    return 0;
  }
  const hocket::TwoHosts hosts("1gbit", HOCKET_MPI_FOLDER);
  if (!hosts.failure().empty()) {
    fmt::print(stderr, "{}\n", hosts.failure());
    return 1;
  }
  const std::string program = std::filesystem::canonical("/proc/self/exe").parent_path() / "hosts_all_reduce";
  const auto outcome =
      hosts.run(hosts.open_mpi(2, {program, hocket::TwoHosts::first_address, rounds}), std::chrono::seconds(600));
  std::map<std::string, Times> times = parse(outcome.output);
  if (outcome.exit_code != 0 || times.size() != 4) {
    fmt::print(stderr, "the ranks failed with {}:\n{}", outcome.exit_code, outcome.output);
    return 1;
  }
  fmt::print("all_reduce of 16 MiB f32, 2 + 2 ranks, 1 Gbit/s; ms, minimum (median) of {} rounds in turn\n", rounds);
  for (const char* name : {"hocket", "mpi", "one_way", "both_ways"}) {
    fmt::print("  {:<10} {:7.1f} ({:.1f})\n", name, times[name].least, times[name].median);
  }
  fmt::print("  hocket takes {:.2f} of Open MPI's time and reaches {:.0f} % of what the link allows (medians)\n",
             times["hocket"].median / times["mpi"].median, 100 * times["both_ways"].median / times["hocket"].median);
  return 0;
}
