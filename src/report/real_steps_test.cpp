// Whole steps on the real executor against the simulator: random programs with communication that is waited for later, on ranks of
// different speed. Kernels sleep for what they are estimated at; what communicates is real.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <mutex>

#include "hocket/ir/text.h"
#include "hocket/report/report.h"
#include "hocket/run/executor.h"
#include "hocket/run/measure_collectives.h"
#include "report/sleeping_kernels.h"
#include "support/random.h"
#include "support/world_threads.h"

namespace hocket {
namespace {

using namespace std::chrono_literals;

constexpr int ranks = 3;
constexpr int runs = 4;  // the fastest counts: others may use this machine

// Computes, and communicates what it has computed; every result is waited for some operators later. `estimate` is that of a
// collective: "{est=0.0ms}", or none, where the machine says what it takes.
std::string random_step(std::uint64_t seed, std::int64_t elements, const std::string& estimate) {
  Random random(seed);
  std::string text = fmt::format("graph @g(%x: f32[{}]) {{\n  group @all = ranks[0,1,2]\n", elements);
  std::string value = "x";
  std::vector<std::string> in_flight;
  const auto wait = [&] {
    const std::string started = in_flight.front();
    in_flight.erase(in_flight.begin());
    text += fmt::format("  %w{0} = _c10d_functional.wait_tensor(%{0})\n", started);
    text +=
        fmt::format("  %m{0} = aten.add.Tensor(%{1}, %w{0}) {{est={2}.0ms}}\n", started, value, random.between(1, 6));
    value = "m" + started;
  };
  for (int i = 0; i < 10; ++i) {
    text += fmt::format("  %c{} = aten.neg(%{}) {{est={}.0ms}}\n", i, value, random.between(4, 20));
    value = fmt::format("c{}", i);
    if (random.chance(50)) {
      text += fmt::format("  %s{} = _c10d_functional.all_reduce(%{}, \"max\", @all) {}\n", i, value, estimate);
      in_flight.push_back(fmt::format("s{}", i));
    }
    if (!in_flight.empty() && random.chance(40)) wait();
  }
  while (!in_flight.empty()) wait();
  return text + fmt::format("  return %{}\n}}\n", value);
}

Compiled lowered(const std::string& text, const CompileOptions& options) {
  auto compiled = compile(*parse_graph(text, "test"), options);
  EXPECT_TRUE(compiled) << compiled.error().to_string() << text;
  return std::move(*compiled);
}

// How long the last rank took, in the fastest of the runs, in ms.
double measured_ms(const Program& program, const std::vector<double>& factors, std::int64_t elements) {
  auto worlds = World::threads(ranks, {.join_timeout = 20s, .timeout = 20s});
  if (!worlds) {
    ADD_FAILURE() << worlds.error().message;
    return 0;
  }
  std::mutex lock;
  std::vector<double> last(runs, 0);  // by run: of all ranks
  each_in_a_thread(std::move(*worlds), [&](const World& world) {
    SleepingKernels kernels(factors[static_cast<std::size_t>(world.rank())]);
    auto executor = Executor::create(program, kernels, world, {.record = true});
    ASSERT_TRUE(executor) << executor.error().to_string();
    std::vector<float> x(static_cast<std::size_t>(elements), 1.0F);
    BufferId input;
    for (std::size_t i = 0; i < program.buffers().size(); ++i) {
      if (program.buffer(BufferId(i)).home == Home::input) input = BufferId(i);
    }
    for (double& step : last) {
      ASSERT_TRUE((*executor)->run(std::vector<InputMemory>{{input, reinterpret_cast<std::byte*>(x.data())}}));
      const auto line = measured_timeline(program, (*executor)->last_run(), {.title = "measured"});
      ASSERT_TRUE(line) << line.error().to_string();
      const std::scoped_lock guard(lock);
      step = std::max(step, line->step_time.ms());
    }
  });
  return *std::min_element(last.begin(), last.end());
}

double simulated_ms(const Program& program, const CompileOptions& options, const std::vector<double>& factors) {
  SimOptions sim;
  for (int rank = 0; rank < ranks; ++rank)
    sim.stragglers.push_back({Rank{rank}, factors[static_cast<std::size_t>(rank)]});
  const auto steps = sim_program(program, CostModel(options.cost));
  const auto result = simulate(*steps, options.cost.machine, sim);
  EXPECT_TRUE(result) << result.error().to_string();
  return result ? result->step_time.ms() : 0;
}

std::vector<double> random_factors(std::uint64_t seed) {
  Random random(seed);
  std::vector<double> factors;
  for (int rank = 0; rank < ranks; ++rank) factors.push_back(static_cast<double>(random.between(4, 10)) / 4);
  return factors;
}

// Little is communicated, so all that counts is who waits for whom. Sleeping takes no less than it should.
TEST(LongRealSteps, take_what_the_simulator_says_on_ranks_of_different_speed) {
  constexpr double tolerance = 1.1;
  CompileOptions options;
  options.passes = *parse_passes("lower,plan");
  for (std::uint64_t seed = 1; seed <= 12; ++seed) {
    const Compiled compiled = lowered(random_step(seed, 16, "{est=0.0ms}"), options);
    const std::vector<double> factors = random_factors(seed);
    const double expected = simulated_ms(*compiled.program(), options, factors);
    const double took = measured_ms(*compiled.program(), factors, 16);
    fmt::print("seed {}: simulated {:.1f} ms, measured {:.1f} ms\n", seed, expected, took);
    EXPECT_GE(took, expected * 0.995) << "seed " << seed;
    EXPECT_LE(took, expected * tolerance) << "seed " << seed;
  }
}

// Megabytes are communicated; what that takes was measured before. Ranks are threads that share memory and processors with each
// other, so that collectives under way take somewhat longer than alone.
TEST(LongRealSteps, with_megabytes_in_flight_take_what_the_simulator_says_of_measured_collectives) {
  constexpr double tolerance = 1.3;
  constexpr std::int64_t elements = 1 << 20;
  const std::vector<double> alike(ranks, 1.0);
  for (std::uint64_t seed = 21; seed <= 26; ++seed) {
    CompileOptions options;
    options.passes = *parse_passes("lower,plan");
    const std::string text = random_step(seed, elements, "");
    std::mutex lock;
    each_in_a_thread(World::threads(ranks).value(), [&](World& world) {
      const auto table = measure_collectives(*lowered(text, options).program(), world);
      ASSERT_TRUE(table) << table.error().to_string();
      const std::scoped_lock guard(lock);
      if (world.rank() == 0) options.cost.machine.collectives = *table;
    });
    const Compiled compiled = lowered(text, options);
    const double expected = simulated_ms(*compiled.program(), options, alike);
    const double took = measured_ms(*compiled.program(), alike, elements);
    fmt::print("seed {}: simulated {:.1f} ms, measured {:.1f} ms\n", seed, expected, took);
    EXPECT_LE(took, expected * tolerance) << "seed " << seed;
    EXPECT_GE(took, expected / tolerance) << "seed " << seed;
  }
}

}  // namespace
}  // namespace hocket
