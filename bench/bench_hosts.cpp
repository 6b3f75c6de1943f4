// all_reduce of 16 MiB over two hosts of two ranks each with 1 Gbit/s between them, against Open MPI and against the link itself.
//
//   ./hk bench hosts [--quick] [--json FILE] [--check]
//   ./hk bench hosts --wires      hocket alone, over Open MPI and over gloo, with two ranks on each host and with one
//
// The hosts are network namespaces, so it needs root. The contestants, and plain TCP streams that show what the link gives, are
// measured in turn, for several rounds.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>

#include "measuring.h"
#include "support/namespaces.h"

namespace hocket {
namespace {

// What the communicator is to reach.
constexpr double most_of_open_mpi = 1.0;  // of its time
constexpr double least_of_link = 0.85;

struct Times {
  double least = 0;
  double median = 0;
};
using Table = std::map<std::string, Times>;

// "hocket 283.1 284.0": minimum and median in ms.
Table parse(const std::string& output) {
  Table times;
  std::istringstream lines(output);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string name;
    Times one;
    if (words >> name >> one.least >> one.median) times[name] = one;
  }
  return times;
}

Result<Table> measure(int rounds) {
  const TwoHosts hosts("1gbit", HOCKET_MPI_FOLDER);
  if (!hosts.failure().empty()) return fail(ErrorKind::system, "{}", hosts.failure());
  const std::string program = std::filesystem::canonical("/proc/self/exe").parent_path() / "hosts_all_reduce";
  const RunOutcome outcome = hosts.run(hosts.open_mpi(2, {program, TwoHosts::first_address, std::to_string(rounds)}),
                                       std::chrono::seconds(600));
  Table times = parse(outcome.output);
  if (outcome.exit_code == 0 && times.size() == 4) return times;
  return fail(ErrorKind::system, "the ranks failed with {}:\n{}", outcome.exit_code, outcome.output);
}

// In turn, so that what else the machine does falls on both.
int compare_wires(int rounds) {
  const std::filesystem::path folder = std::filesystem::canonical("/proc/self/exe").parent_path();
  const TwoHosts hosts("1gbit", HOCKET_MPI_FOLDER);
  if (!hosts.failure().empty()) return complain("hosts", {ErrorKind::system, hosts.failure(), ""});
  fmt::print(
      "over 1 Gbit/s; large: all_reduce of 16 MiB f32 in ms, minimum and median of {} rounds; processor: ms of it for "
      "one\n"
      "of these, in all threads of the ranks that need least and most; small: 4 bytes, in us; waiting: ms of the\n"
      "processor in a second without messages\n",
      rounds);
  for (const int ranks : {2, 2, 1, 1}) {
    const std::string count = std::to_string(rounds);
    const RunOutcome mpi = hosts.run(hosts.open_mpi(ranks, {folder / "hosts_wire", count}), std::chrono::seconds(300));
    fmt::print("{} + {} ranks, Open MPI\n{}", ranks, ranks, mpi.output);
    if (!std::filesystem::exists(folder / "torch_hosts_wire")) continue;
    const RunOutcome gloo =
        hosts.run(hosts.by_hand(ranks, {folder / "torch_hosts_wire", count}), std::chrono::seconds(300));
    fmt::print("{} + {} ranks, gloo\n{}", ranks, ranks, gloo.output);
    if (mpi.exit_code != 0 || gloo.exit_code != 0) return 1;
  }
  return 0;
}

int run(const BenchFlags& flags, int rounds, bool wires) {
  std::string why = TwoHosts::impossible("mpirun.openmpi");
  if (!std::filesystem::exists(std::string(HOCKET_MPI_FOLDER) + "/libhocket_mpi_openmpi.so")) {
    why = "hocket was built without Open MPI (libopenmpi-dev)";
  }
  if (!why.empty()) {
    fmt::print("not measured: {}\n", why);
    return finish("hosts", flags, nlohmann::json{{"not_measured", why}}.dump(2), {});
  }
  if (wires) return compare_wires(rounds);
  const Result<Table> measured = measure(rounds);
  if (!measured) return complain("hosts", measured.error());
  Table times = *measured;
  const double of_open_mpi = times["hocket"].median / times["open_mpi"].median;
  const double of_link = times["both_ways"].median / times["hocket"].median;
  fmt::print("all_reduce of 16 MiB f32, 2 + 2 ranks, 1 Gbit/s; ms, minimum (median) of {} rounds in turn\n", rounds);
  nlohmann::json figures;
  for (const auto& [name, time] : times) {
    fmt::print("  {:<10} {:7.1f} ({:.1f})\n", name, time.least, time.median);
    figures["milliseconds"][name] = {{"minimum", time.least}, {"median", time.median}};
  }
  fmt::print("  hocket takes {:.2f} of Open MPI's time and reaches {:.0f} % of what the link allows (medians)\n",
             of_open_mpi, 100 * of_link);
  figures["time_of_open_mpi"] = of_open_mpi;
  figures["part_of_link"] = of_link;
  std::vector<std::string> missed;
  if (of_open_mpi > most_of_open_mpi) {
    missed.push_back(fmt::format("{:.2f} of Open MPI's time, asked for {:.2f}", of_open_mpi, most_of_open_mpi));
  }
  if (of_link < least_of_link) {
    missed.push_back(fmt::format("{:.0f} % of the link, asked for {:.0f}", 100 * of_link, 100 * least_of_link));
  }
  return finish("hosts", flags, figures.dump(2), missed);
}

}  // namespace
}  // namespace hocket

int main(int argc, char** argv) {
  hocket::BenchFlags flags;
  int rounds = 0;
  bool wires = false;
  CLI::App app("all_reduce over two hosts");
  flags.add_to(app);
  app.add_option("--rounds", rounds, "how often everybody is measured")->check(CLI::Range(1, 1000));
  app.add_flag("--wires", wires, "compare Open MPI and gloo as what hocket goes over");
  CLI11_PARSE(app, argc, argv);
  if (rounds == 0) rounds = flags.quick ? 4 : 20;
  return hocket::run(flags, rounds, wires);
}
