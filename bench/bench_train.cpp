// Training steps of hocket, compiled and not, beside PyTorch's own data parallel and FSDP2 with gloo.
//
//   ./hk bench train [--quick] [--json FILE] [--check] [--model NAME…] [--setting host|link…] [--way NAME…] [--rounds N]
//
// Two ranks with one thread and one core each, on one host or on two, which are network namespaces with 1 Gbit/s between them (this
// needs root and Open MPI). All contestants stay for the whole run and sleep while others train; each trains a model of its own with
// the same weights and batches.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>

#include "comm/setting.h"
#include "contestants_folder.h"
#include "hocket/base/progress.h"
#include "measuring.h"
#include "support/namespaces.h"
#include "train/judge.h"

namespace hocket::train_bench {
namespace {

using comm_bench::Launch;
using comm_bench::Recipe;

constexpr std::int32_t ranks = 2;
const std::vector<std::string> all_models = {"mlp", "gpt_4x256", "gpt_8x512", "resnet"};
const std::vector<std::string> quick_models = {"mlp", "gpt_4x256"};
const std::vector<Lane> all_lanes = {{"hocket", "alone"},
                                     {"hocket", "streaming"},
                                     {"hocket", "communication"},
                                     {"hocket", "blocking"},
                                     {"hocket", "ddp"},
                                     {"hocket", "compiled"},
                                     {"hocket", "compiled_across"},
                                     {"hocket", "fsdp"},
                                     {"hocket", "compiled_fsdp"},
                                     {"PyTorch", "ddp"},
                                     {"PyTorch", "fsdp"}};

struct Options {
  BenchFlags flags;
  std::vector<std::string> models, settings;
  std::vector<std::string> ways;  // empty: all
  std::vector<Lane> lanes(const std::string& setting) const {
    std::vector<Lane> chosen;
    for (const Lane& lane : all_lanes) {
      if (lane.way == "streaming" && setting != "link") continue;  // there is no link on one host
      if (ways.empty() || std::ranges::find(ways, lane.way) != ways.end()) chosen.push_back(lane);
    }
    return chosen;
  }
  int rounds = 0;
  std::string programs = std::filesystem::canonical("/proc/self/exe").parent_path().string();
  std::string python = HOCKET_SOURCE_DIR "/.venv/bin/python";
};

// Without hosts: on this one.
Recipe hocket_recipe(const Options& options, const TwoHosts* hosts) {
  const std::string program = options.programs + "/contestant_train";
  Recipe recipe{"hocket", "hocket", std::filesystem::exists(program) ? "" : program + " was not built", {}};
  recipe.launches = [=](const comm_bench::Setting&, const std::string& control,
                        const std::string&) -> Result<std::vector<Launch>> {
    if (hosts == nullptr) {
      const std::string launcher = options.programs + "/../bin/hocket";
      return std::vector<Launch>{{{launcher, "launch", "-n", std::to_string(ranks), program, control, "each"}, {}}};
    }
    return std::vector<Launch>{{hosts->on(0, hosts->open_mpi(1, {program, control, "each", TwoHosts::first_address})),
                                {{"LD_LIBRARY_PATH", HOCKET_MPI_FOLDER}}}};
  };
  return recipe;
}

Recipe pytorch_recipe(const Options& options, const TwoHosts* hosts) {
  const bool there = std::filesystem::exists(options.python);
  Recipe recipe{"PyTorch", "PyTorch", there ? "" : fmt::format("no {}: run ./hk setup", options.python), {}};
  recipe.launches = [=](const comm_bench::Setting&, const std::string& control,
                        const std::string&) -> Result<std::vector<Launch>> {
    std::vector<Launch> launches;
    for (std::int32_t rank = 0; rank < ranks; ++rank) {
      const std::vector<std::string> command = {options.python,
                                                "-B",
                                                HOCKET_SOURCE_DIR "/bench/train/contestant_pytorch.py",
                                                control,
                                                "each",
                                                std::to_string(rank),
                                                std::to_string(ranks)};
      launches.push_back({hosts == nullptr ? command : hosts->on(rank, command),
                          {{"MASTER_ADDR", hosts == nullptr ? "127.0.0.1" : TwoHosts::first_address},
                           {"MASTER_PORT", "29483"},
                           {"GLOO_SOCKET_IFNAME", hosts == nullptr ? "lo" : fmt::format("hkv{}", rank + 1)},
                           {"OMP_NUM_THREADS", "1"}}});
    }
    return launches;
  };
  return recipe;
}

Result<std::unique_ptr<comm_bench::Contestant>> start(const Recipe& recipe, const std::string& setting,
                                                      const std::string& folder) {
  return comm_bench::Contestant::start(recipe, {setting, setting, ranks, "each"}, folder);
}

class Bench {
 public:
  explicit Bench(const Options& options) : options_(options) {}

  Status run() {
    for (const std::string& setting : options_.settings) {
      if (setting == "host") {
        HOCKET_CHECK(run_on("host", nullptr));
        continue;
      }
      const std::string why = TwoHosts::impossible("mpirun.openmpi");
      if (!why.empty()) {
        note(fmt::format("two hosts are not measured: {}", why));
        continue;
      }
      const TwoHosts hosts("1gbit", HOCKET_MPI_FOLDER);
      if (!hosts.failure().empty()) return fail(ErrorKind::system, "{}", hosts.failure());
      HOCKET_CHECK(run_on("link", &hosts));
    }
    return {};
  }

  int report() const {
    std::vector<std::string> missed;
    for (const Race& race : races_) {
      for (std::string& one : misses(race, {})) missed.push_back(std::move(one));
    }
    return finish("train", options_.flags, as_json(races_, notes_, missed), missed);
  }

 private:
  void note(const std::string& text) {
    notes_.push_back(text);
    fmt::print(stderr, "bench_train: {}\n", text);
  }

  Status run_on(const std::string& setting, const TwoHosts* hosts) {
    HOCKET_TRY(const ContestantsFolder folder, ContestantsFolder::make());
    Contestants contestants;
    for (const Recipe& recipe : {hocket_recipe(options_, hosts), pytorch_recipe(options_, hosts)}) {
      auto started = start(recipe, setting, folder.folder_of(recipe.name));
      if (started) contestants[recipe.name] = std::move(*started);
      else note(fmt::format("{} is left out: {}", recipe.name, started.error().to_string()));
    }
    Progress progress("bench train, " + setting, static_cast<std::int64_t>(options_.models.size()));
    for (const std::string& model : options_.models) {
      RaceEffort effort = options_.flags.quick ? RaceEffort{2, 3} : RaceEffort{};
      if (options_.rounds > 0) effort.rounds = options_.rounds;
      races_.push_back(run_race(setting, model, options_.lanes(setting), contestants, effort));
      measure_memory_of(races_.back(), hosts, folder);
      if (comm_bench::interrupted()) return fail(ErrorKind::usage, "interrupted");
      fmt::print("{}", table_of(races_.back()));
      std::fflush(stdout);
      progress.advance();
    }
    return {};
  }

  void measure_memory_of(Race& race, const TwoHosts* hosts, const ContestantsFolder& folder) {
    for (const Lane& lane : options_.lanes(race.setting)) {
      if (!lane.way.starts_with("compiled")) continue;
      auto fresh = start(hocket_recipe(options_, hosts), race.setting,
                         folder.folder_of(fmt::format("{}_{}", race.model, lane.way)));
      if (fresh) measure_memory(race, lane, **fresh);
      else note(fmt::format("the memory of {} is left out: {}", lane.title(), fresh.error().to_string()));
    }
  }

  const Options& options_;
  std::vector<Race> races_;
  std::vector<std::string> notes_;
};

int main_of(int argc, char** argv) {
  Options options;
  CLI::App app("Training steps of hocket and PyTorch side by side", "bench_train");
  options.flags.add_to(app);
  app.add_option("--model", options.models, "mlp, gpt_4x256, gpt_8x512, resnet")->check(CLI::IsMember(all_models));
  app.add_option("--setting", options.settings, "host: two ranks on one; link: on two, 1 Gbit/s between them")
      ->check(CLI::IsMember(std::vector<std::string>{"host", "link"}));
  std::vector<std::string> known;
  for (const Lane& lane : all_lanes) known.push_back(lane.way);
  app.add_option("--way", options.ways, "only these: ddp, compiled, …")->check(CLI::IsMember(known));
  app.add_option("--rounds", options.rounds, "how often everybody trains some steps")->check(CLI::Range(1, 1000));
  app.add_option("--python", options.python, "a Python with torch")->capture_default_str();
  CLI11_PARSE(app, argc, argv);
  if (options.models.empty()) options.models = options.flags.quick ? quick_models : all_models;
  if (options.settings.empty()) {
    options.settings =
        options.flags.quick ? std::vector<std::string>{"host"} : std::vector<std::string>{"host", "link"};
  }
  comm_bench::watch_for_interrupts();
  Bench bench(options);
  if (const Status status = bench.run(); !status) return complain("train", status.error());
  return bench.report();
}

}  // namespace
}  // namespace hocket::train_bench

int main(int argc, char** argv) { return hocket::train_bench::main_of(argc, argv); }
