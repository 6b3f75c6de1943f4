#include "calibrate_step.h"

#include <ATen/Parallel.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "comm/flag.h"
#include "comm/launch.h"
#include "command.h"
#include "hocket/base/median.h"
#include "hocket/cost/machine.h"
#include "hocket/ir/file.h"
#include "hocket/ir/verify.h"
#include "hocket/torch/measure_step.h"

namespace hocket::tool {

namespace {

Result<Graph> read_step(const std::string& file) {
  HOCKET_TRY(Graph graph, read_graph(file));
  if (const auto problems = verify(graph); !problems.empty()) return fail(to_error(problems, file));
  return graph;
}

std::int64_t ranks_of(const Graph& graph) {
  std::int64_t ranks = std::max<std::int64_t>(graph.world_size(), 1);
  for (const Group& group : graph.groups()) {
    for (const Rank rank : group.ranks) ranks = std::max<std::int64_t>(ranks, rank.value + 1);
  }
  return ranks;
}

std::string as_text(const CalibrateStepOptions& options, const MeasuredStep& measured, std::int32_t ranks) {
  std::string text = fmt::format("{} rank{}, {} run{}: a step takes {}; {} different calls of kernels\n", ranks,
                                 ranks == 1 ? "" : "s", measured.runs.size(), measured.runs.size() == 1 ? "" : "s",
                                 to_string(upper_median(measured.runs)), measured.profile.size());
  std::string use;
  if (!options.machine.empty()) use += " --machine " + options.machine;
  if (!options.profile.empty()) use += " --profile " + options.profile;
  if (!use.empty()) text += fmt::format("Try next:  hocket opt {} --estimates machine{}\n", options.graph, use);
  return text;
}

std::string as_json(const CalibrateStepOptions& options, const MeasuredStep& measured, std::int32_t ranks) {
  nlohmann::ordered_json object = {{"graph", options.graph},
                                   {"ranks", ranks},
                                   {"step_ms", upper_median(measured.runs).ms()},
                                   {"calls", measured.profile.size()},
                                   {"collectives", measured.collectives ? measured.collectives->rows().size() : 0}};
  if (!options.profile.empty()) object["profile"] = options.profile;
  if (!options.machine.empty()) object["machine"] = options.machine;
  return object.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

Status write_files(const CalibrateStepOptions& options, const MeasuredStep& measured, std::int32_t ranks) {
  if (!options.profile.empty()) HOCKET_CHECK(write_profile(measured.profile, options.profile));
  if (options.machine.empty()) return {};
  HOCKET_TRY(Machine machine, find_machine("cpu"));
  machine.name = "calibrated";
  machine.description = fmt::format("cpu, with collectives as measured between {} ranks of one host", ranks);
  machine.collectives = measured.collectives;
  return write_machine(machine, options.machine);
}

// Rank 0 speaks.
Result<int> be_rank(const CalibrateStepOptions& options) {
  at::set_num_threads(options.threads);
  HOCKET_TRY(const World world, World::join());
  HOCKET_TRY(const Graph graph, read_step(options.graph));
  HOCKET_TRY(const MeasuredStep measured, measure_step(graph, world, {.runs = options.runs}));
  if (world.rank() != 0) return ok;
  HOCKET_CHECK(write_files(options, measured, world.size()));
  say(options.json ? as_json(options, measured, world.size()) : as_text(options, measured, world.size()));
  return ok;
}

Result<int> start_ranks(const CalibrateStepOptions& options) {
  HOCKET_TRY(const Graph graph, read_step(options.graph));
  const std::int64_t ranks = ranks_of(graph);
  if (ranks > processor_count()) {
    return fail(
        at({ErrorKind::usage,
            fmt::format("was captured for {} ranks, and this machine has {} core{}: ranks that share a core would "
                        "measure each other; capture the step for fewer ranks",
                        ranks, processor_count(), processor_count() == 1 ? "" : "s"),
            {}},
           options.graph));
  }
  LaunchOptions how;
  how.ranks = static_cast<int>(ranks);
  how.command = {std::filesystem::read_symlink("/proc/self/exe").string(), "calibrate", options.graph, "--as-rank"};
  how.command.insert(how.command.end(), {"--runs", std::to_string(options.runs)});
  how.command.insert(how.command.end(), {"--threads", std::to_string(options.threads)});
  if (options.json) how.command.emplace_back("--json");
  if (!options.profile.empty()) how.command.insert(how.command.end(), {"--output", options.profile});
  if (!options.machine.empty()) how.command.insert(how.command.end(), {"--machine-output", options.machine});
  how.environment = inherited_environment();
  how.prefix = false;
  how.bind_to_cores = options.threads == 1;
  return launch(how);
}

}  // namespace

int run_calibrate_step(const CalibrateStepOptions& options) {
  const Result<int> code = options.as_rank ? be_rank(options) : start_ranks(options);
  return code ? *code : complain(code.error());
}

}  // namespace hocket::tool
