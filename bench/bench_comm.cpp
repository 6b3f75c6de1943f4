// Collectives of hocket beside those that a user would pick instead, all in one run.
//
//   ./hk bench comm [--quick] [--json FILE] [--check]
//                   [--operator OP…] [--bytes SIZE…] [--setting NAME…] [--contestants NAME…] [--pypi] [--defaults]
//
// hocket has the thresholds of `hocket calibrate`; where nobody has run that, they are measured first. --defaults does without.
// Each contestant is a set of rank processes that stay for the whole run and sleep while others are measured. At each point the
// result is checked once, then everybody is measured in turn, for several rounds, so that a slow moment of the machine hits all.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <functional>

#include "comm/driver.h"
#include "comm/table.h"
#include "comm/thresholds.h"
#include "hocket/base/progress.h"
#include "measuring.h"

namespace hocket::comm_bench {
namespace {

const std::vector<std::int64_t> all_sizes = {8,         64,      1 << 10, 4 << 10,  16 << 10, 64 << 10,
                                             256 << 10, 1 << 20, 4 << 20, 16 << 20, 64 << 20, 256 << 20};
const std::vector<std::int64_t> quick_sizes = {8, 16 << 10, 1 << 20, 16 << 20};
constexpr Effort full_effort{10, 25'000};
constexpr Effort quick_effort{3, 6'000};

struct Options {
  BenchFlags flags;
  std::vector<std::string> operators;
  std::vector<std::int64_t> sizes;
  std::vector<std::string> settings;
  std::vector<std::string> contestants;
  std::int32_t ranks = 0;
  std::int32_t rounds = 0;
  bool defaults = false;
  RosterOptions roster;

  void add_to(CLI::App& app);
};

void Options::add_to(CLI::App& app) {
  roster.programs = std::filesystem::read_symlink("/proc/self/exe").parent_path().string();
  roster.python = HOCKET_SOURCE_DIR "/.venv/bin/python";
  roster.pypi_folder = HOCKET_SOURCE_DIR "/.cache/contestants";
  flags.add_to(app);
  app.add_option("--operator", operators, "all_reduce, all_gather, reduce_scatter, all_to_all, broadcast, barrier");
  app.add_option("--bytes", sizes, "the larger of a rank's input and output: 8, 16KiB, 1MiB")
      ->transform(CLI::AsSizeValue(false));
  app.add_option("--setting", settings, "pinned: a core for each rank; unpinned; crowded: 4 ranks on 2 cores");
  app.add_option("--ranks", ranks, "this many ranks, instead of those of the setting")->check(CLI::Range(1, 64));
  app.add_option("--rounds", rounds, "how often everybody is measured at each point")->check(CLI::Range(1, 1000));
  app.add_option("--contestants", contestants, "only these: hocket, open_mpi, mpich, gloo");
  app.add_flag("--defaults", defaults, "hocket without what hocket calibrate finds out");
  app.add_flag("--pypi", roster.pypi, "intel_mpi and oneccl too; ./hk bench comm --pypi installs them");
  app.add_option("--python", roster.python, "a Python with torch, for gloo")->capture_default_str();
}

Result<Plan> plan_of(const Options& options) {
  Plan plan;
  HOCKET_TRY(plan.contestants, choose_contestants(roster(options.roster), options.contestants));
  plan.floor = floor_recipe(options.roster);
  for (const std::string& name : options.operators) {
    HOCKET_TRY(const Operator op, operator_from_name(name));
    plan.operators.push_back(op);
  }
  if (options.operators.empty()) {
    for (int op = 0; op < operator_count; ++op) plan.operators.push_back(static_cast<Operator>(op));
  }
  plan.sizes = !options.sizes.empty() ? options.sizes : options.flags.quick ? quick_sizes : all_sizes;
  plan.effort = options.flags.quick ? quick_effort : full_effort;
  if (options.rounds > 0) plan.effort.rounds = options.rounds;
  return plan;
}

std::vector<std::string> setting_names(const Options& options) {
  if (!options.settings.empty()) return options.settings;
  if (options.flags.quick) return {"pinned"};
  return {"pinned", "unpinned", "crowded"};
}

// Somebody else's work on these cores shows in the figures, most of all where ranks wait for each other.
void warn_if_busy(const std::function<void(const std::string&)>& note) {
  double load = 0;
  constexpr double quiet = 0.7;  // processes, on average of the last minute
  if (getloadavg(&load, 1) == 1 && load > quiet)
    note(fmt::format("the machine is busy (load {:.1f}): measure again when it is quiet", load));
}

bool takes_part(const std::string& name, const std::vector<Recipe>& contestants) {
  return std::any_of(contestants.begin(), contestants.end(), [&](const Recipe& one) { return one.name == name; });
}

int run(int argc, char** argv) {
  Options options;
  CLI::App app("Collectives of hocket, Open MPI, MPICH and gloo side by side", "bench_comm");
  options.add_to(app);
  CLI11_PARSE(app, argc, argv);
  const auto plan = plan_of(options);
  if (!plan) return complain("bench_comm", plan.error());
  const auto settings = choose_settings(setting_names(options), options.ranks);
  if (!settings) return complain("bench_comm", settings.error());

  watch_for_interrupts();
  std::vector<std::string> notes;
  const auto note = [&](const std::string& text) {
    notes.push_back(text);
    fmt::print(stderr, "bench_comm: {}\n", text);
  };
  warn_if_busy(note);
  Thresholds thresholds;
  if (takes_part("hocket", plan->contestants)) {
    const auto whence =
        options.defaults ? thresholds.use_defaults() : thresholds.provide(*settings, options.flags.quick);
    if (!whence) return complain("bench_comm", whence.error());
    note(*whence);
  }
  std::size_t total = 0;
  for (const Setting& setting : *settings) total += points_of(setting, *plan).size();
  Progress progress("bench comm", static_cast<std::int64_t>(total));
  Driver driver(*plan, note, [&] { progress.advance(); });
  std::vector<Point> points;
  fmt::print("{}", legend(plan->targets));
  for (const Setting& setting : *settings) {
    const auto measured = driver.run(setting);
    if (!measured) return complain("bench_comm", measured.error());
    points.insert(points.end(), measured->begin(), measured->end());
    fmt::print("{}", tables(setting, points, plan->targets));
    std::fflush(stdout);
  }
  const auto missed = misses(points, plan->targets);
  return finish("bench_comm", options.flags, as_json(points, notes, missed), missed);
}

}  // namespace
}  // namespace hocket::comm_bench

int main(int argc, char** argv) { return hocket::comm_bench::run(argc, argv); }
