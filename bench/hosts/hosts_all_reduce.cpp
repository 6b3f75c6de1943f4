// A rank of the benchmark across hosts: all_reduce of 16 MiB of f32 by hocket and by the MPI library itself, and the link's own
// speed, in turn.
//
//   mpirun … hosts_all_reduce ADDRESS ROUNDS      ADDRESS: of the first rank's host
//
// Prints, from rank 0, one line for each contestant: its name, minimum and median in milliseconds.
#include <fmt/format.h>
#include <mpi.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <functional>
#include <string>
#include <vector>

#include "hocket/comm/world.h"
#include "hosts_stream.h"

namespace hocket {
namespace {

constexpr std::int64_t elements = std::int64_t{4} << 20;  // 16 MiB

double milliseconds(const std::function<bool()>& body, bool& right) {
  MPI_Barrier(MPI_COMM_WORLD);
  const auto begin = std::chrono::steady_clock::now();
  right = body() && right;
  const std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - begin;
  double slowest = took.count();
  MPI_Allreduce(MPI_IN_PLACE, &slowest, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  return slowest;
}

struct Contestant {
  std::string name;
  std::function<bool()> body;
  std::vector<double> times{};
};

void print(Contestant& contestant) {
  std::sort(contestant.times.begin(), contestant.times.end());
  fmt::print("{} {:.1f} {:.1f}\n", contestant.name, contestant.times.front(),
             contestant.times[contestant.times.size() / 2]);
}

Status measure(const std::string& address, int rounds) {
  HOCKET_TRY(const World world, World::join());
  HOCKET_TRY(const Communicator group, world.communicator());
  const std::int32_t other = world.size() / 2;  // the first rank of the second host
  HOCKET_TRY(HostsStream stream, HostsStream::connect(address, world.rank() == 0, world.rank() == other));
  std::vector<float> input(static_cast<std::size_t>(elements), static_cast<float>(world.rank() + 1));
  std::vector<float> output(input.size());
  const auto expected = static_cast<float>(world.size() * (world.size() + 1) / 2);
  const auto right = [&] {
    return std::all_of(output.begin(), output.end(), [&](float value) { return value == expected; });
  };
  CallOptions options;
  options.blocking = true;
  const std::int64_t bytes = elements * static_cast<std::int64_t>(sizeof(float));
  std::vector<Contestant> contestants;
  contestants.push_back({"hocket", [&] {
                           return group
                               .all_reduce(input.data(), output.data(), elements, Dtype::f32, ReduceOp::sum, options)
                               .wait()
                               .has_value();
                         }});
  contestants.push_back({"open_mpi", [&] {
                           return MPI_Allreduce(input.data(), output.data(), static_cast<int>(elements), MPI_FLOAT,
                                                MPI_SUM, MPI_COMM_WORLD) == MPI_SUCCESS;
                         }});
  contestants.push_back({"one_way", [&] { return stream.exchange(bytes, world.rank() == 0, world.rank() == other); }});
  contestants.push_back({"both_ways", [&] { return stream.exchange(bytes, true, true); }});
  for (int round = -1; round < rounds; ++round) {  // the first one warms up
    for (std::size_t i = 0; i < contestants.size(); ++i) {
      const bool reduces = i < 2;
      std::fill(output.begin(), output.end(), reduces ? 0.0F : expected);
      bool well = true;
      const double took = milliseconds(contestants[i].body, well);
      if (!well || !right()) return fail(ErrorKind::internal, "{} gave a wrong result", contestants[i].name);
      if (round >= 0) contestants[i].times.push_back(took);
    }
  }
  if (world.rank() == 0) {
    for (Contestant& contestant : contestants) print(contestant);
  }
  return {};
}

}  // namespace
}  // namespace hocket

int main(int argc, char** argv) {
  if (argc != 3) {
    fmt::print(stderr, "usage: mpirun … hosts_all_reduce ADDRESS ROUNDS\n");
    return 2;
  }
  int level = 0;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
  const hocket::Status status = hocket::measure(argv[1], std::stoi(argv[2]));
  if (!status) fmt::print(stderr, "{}\n", status.error().to_string());
  if (!status) MPI_Abort(MPI_COMM_WORLD, 1);
  MPI_Finalize();
  return 0;
}
