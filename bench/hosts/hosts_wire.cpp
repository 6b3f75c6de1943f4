// A rank of the benchmark across hosts, over whatever wire it was started for: all_reduce of 16 MiB of f32, small ones, and what
// the processor does meanwhile.
//
//   hosts_wire ROUNDS
//
// Prints, from rank 0: "large MIN MEDIAN" in ms, "small MIN MEDIAN" in µs for 4 bytes, "processor LEAST MOST" in ms of a large one
// on the ranks that needed least and most, "waiting LEAST MOST" in ms of the processor while a rank waits a second for another.
#include <fmt/format.h>
#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <thread>
#include <vector>

#include "hocket/comm/world.h"

namespace hocket {
namespace {

using Clock = std::chrono::steady_clock;

double milliseconds_since(Clock::time_point begin) {
  return std::chrono::duration<double, std::milli>(Clock::now() - begin).count();
}

// Of the processor, in all threads.
double milliseconds_used() {
  rusage used{};
  getrusage(RUSAGE_SELF, &used);
  return static_cast<double>(used.ru_utime.tv_sec + used.ru_stime.tv_sec) * 1e3 +
         static_cast<double>(used.ru_utime.tv_usec + used.ru_stime.tv_usec) / 1e3;
}

struct Figures {
  std::vector<double> times;
  double processor = 0;  // for each call
};

class Ranks {
 public:
  explicit Ranks(Communicator all) : all_(std::move(all)) { options_.blocking = true; }

  Result<Figures> measure(std::int64_t count, int rounds) {
    std::vector<float> data(static_cast<std::size_t>(count));
    Figures figures;
    for (int round = -1; round < rounds; ++round) {  // the first one warms up
      HOCKET_CHECK(all_.barrier(options_).wait());
      const double used = milliseconds_used();
      const Clock::time_point begin = Clock::now();
      HOCKET_CHECK(all_.all_reduce(data.data(), data.data(), count, Dtype::f32, ReduceOp::sum, options_).wait());
      if (round < 0) continue;
      figures.times.push_back(milliseconds_since(begin));
      figures.processor += (milliseconds_used() - used) / rounds;
    }
    std::sort(figures.times.begin(), figures.times.end());
    return figures;
  }

  // The last rank comes a second late.
  Result<double> wait_a_second() {
    HOCKET_CHECK(all_.barrier(options_).wait());
    const double used = milliseconds_used();
    if (all_.group().place() == all_.group().size() - 1) std::this_thread::sleep_for(std::chrono::seconds(1));
    HOCKET_CHECK(all_.barrier(options_).wait());
    return milliseconds_used() - used;
  }

  Status print(const char* name, double least, double most) {
    double values[2] = {least, most};
    HOCKET_CHECK(all_.all_reduce(&values[0], &values[0], 1, Dtype::f64, ReduceOp::min, options_).wait());
    HOCKET_CHECK(all_.all_reduce(&values[1], &values[1], 1, Dtype::f64, ReduceOp::max, options_).wait());
    if (all_.group().place() == 0) fmt::print("{} {:.1f} {:.1f}\n", name, values[0], values[1]);
    return {};
  }

 private:
  Communicator all_;
  CallOptions options_;
};

Status measure(int rounds) {
  HOCKET_TRY(const World world, World::join());
  HOCKET_TRY(const Communicator all, world.communicator());
  Ranks ranks(all);
  HOCKET_TRY(const Figures large, ranks.measure(std::int64_t{4} << 20, rounds));
  HOCKET_CHECK(ranks.print("large", large.times.front(), large.times[large.times.size() / 2]));
  HOCKET_CHECK(ranks.print("processor", large.processor, large.processor));
  HOCKET_TRY(const Figures small, ranks.measure(1, 50 * rounds));
  HOCKET_CHECK(ranks.print("small", small.times.front() * 1e3, small.times[small.times.size() / 2] * 1e3));
  HOCKET_TRY(const double waiting, ranks.wait_a_second());
  return ranks.print("waiting", waiting, waiting);
}

}  // namespace
}  // namespace hocket

int main(int argc, char** argv) {
  if (argc != 2) {
    fmt::print(stderr, "usage: hosts_wire ROUNDS, started by mpirun or with the variables of torchrun\n");
    return 2;
  }
  const hocket::Status status = hocket::measure(std::stoi(argv[1]));
  if (!status) fmt::print(stderr, "{}\n", status.error().to_string());
  return status ? 0 : 1;
}
