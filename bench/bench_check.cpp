// `./hk bench check`: what it costs that ranks notice different calls, at 4 KiB.
//
// Every call computes a fingerprint of what all ranks must have in common, writes it beside its flag, into the cache line that the
// others read anyway, and compares theirs when it takes their data. There is no switch to run without it. So the three are measured
// by themselves, again and again in a loop that the processor can't hide behind waiting, which is more than they cost in a call; and
// set against an all_reduce of 4 KiB between two ranks, each with a core of its own.
#include <fmt/format.h>

#include <algorithm>
#include <barrier>
#include <chrono>
#include <thread>

#include "comm/call.h"
#include "hocket/comm/world.h"
#include "measuring.h"

namespace hocket {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::int64_t elements = 1024;     // of f32: 4 KiB
constexpr std::int64_t rounds_of_call = 2;  // in which a call compares, at most
constexpr double target = 0.02;

double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

// What stands in shared memory for one rank and round.
struct alignas(128) Line {
  std::uint64_t flag = 0;
  std::uint64_t fingerprint = 0;
};

// Nanoseconds for each call: the fingerprint, and a store and a comparison for each round.
double time_of_check(std::int64_t calls) {
  GroupCall call;
  call.op = Operator::all_reduce;
  call.dtype = Dtype::f32;
  call.count = elements;
  volatile Line mine;
  volatile Line theirs;
  std::int64_t different = 0;
  const auto start = Clock::now();
  for (std::int64_t i = 0; i < calls; ++i) {
    call.number = static_cast<std::uint64_t>(i);
    const std::uint64_t fingerprint = call.fingerprint();
    for (std::int64_t round = 0; round < rounds_of_call; ++round) {
      mine.fingerprint = fingerprint;
      if (theirs.fingerprint != fingerprint) ++different;
    }
  }
  const double time = seconds_since(start);
  return different < 0 ? 0 : 1e9 * time / static_cast<double>(calls);
}

// Nanoseconds of an all_reduce between two threads; the best of some repetitions.
Result<double> time_of_call(int calls) {
  HOCKET_TRY(const std::vector<World> worlds, World::threads(2));
  std::vector<double> times;
  Status failed;
  std::barrier both(2);
  const auto be_rank = [&](std::size_t rank) {
    const Result<Communicator> group = worlds[rank].communicator();
    std::vector<float> data(elements, 1.0F);
    constexpr int repetitions = 20;
    for (int repetition = 0; repetition < repetitions; ++repetition) {
      both.arrive_and_wait();
      const auto start = Clock::now();
      for (int i = 0; i < calls; ++i) {
        const Status status =
            group->all_reduce(data.data(), data.data(), elements, Dtype::f32, ReduceOp::max, {.blocking = true}).wait();
        if (!status && rank == 0) failed = status;
      }
      if (rank == 0) times.push_back(1e9 * seconds_since(start) / calls);
    }
    both.arrive_and_wait();
  };
  std::thread other(be_rank, 1);
  be_rank(0);
  other.join();
  HOCKET_CHECK(std::move(failed));
  return lowest(times);
}

int run(const BenchFlags& flags) {
  const Result<double> call = time_of_call(flags.quick ? 500 : 5'000);
  if (!call) return complain("check", call.error());
  std::vector<double> checks;
  for (int i = 0; i < 20; ++i) checks.push_back(time_of_check(100'000));
  const double check = lowest(checks);
  const double share = check / *call;
  fmt::print("all_reduce of 4 KiB between 2 ranks   {:8.1f} ns\n", *call);
  fmt::print("its check for different calls         {:8.1f} ns   {:.2f} %, at most {:.0f} %\n", check, 100 * share,
             100 * target);
  std::vector<std::string> missed;
  if (share > target) missed.push_back(fmt::format("the check takes {:.2f} % of a call of 4 KiB", 100 * share));
  return finish("check", flags, fmt::format("{{\"call_ns\": {:.1f}, \"check_ns\": {:.2f}}}\n", *call, check), missed);
}

}  // namespace
}  // namespace hocket

int main(int argc, char** argv) {
  CLI::App app("What it costs that ranks notice different calls");
  hocket::BenchFlags flags;
  flags.add_to(app);
  CLI11_PARSE(app, argc, argv);
  return hocket::run(flags);
}
