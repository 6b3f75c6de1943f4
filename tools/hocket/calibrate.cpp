#include "comm/calibrate.h"

#include <memory>
#include <nlohmann/json.hpp>
#include <set>

#include "calibrate_step.h"
#include "comm/flag.h"
#include "comm/tuning_file.h"
#include "command.h"
#include "hocket/base/env.h"
#include "hocket/base/progress.h"
#include "hocket/base/units.h"

namespace hocket::tool {

namespace {

using Json = nlohmann::ordered_json;

struct CalibrateCommand {
  CalibrateStepOptions step;  // without a graph: of the machine
  std::vector<std::int32_t> ranks;
  double seconds = 30;
  bool dry_run = false;
  bool json = false;
};

// One number for each row of the table that this machine has the cores for, and always two.
std::vector<std::int32_t> usual_ranks() {
  std::vector<std::int32_t> ranks = {2};
  for (const std::int32_t count : {4, 8, 16}) {
    if (count <= processor_count()) ranks.push_back(count);
  }
  return ranks;
}

Status check_ranks(const std::vector<std::int32_t>& ranks) {
  std::set<std::size_t> rows;
  for (const std::int32_t count : ranks) {
    if (rows.insert(TuningTable::row_of(count)).second) continue;
    return fail(ErrorKind::usage,
                "--ranks has two numbers for {} ranks, expected one of 2, one of 3-4, one of 5-8 and one above",
                TuningTable::name_of_row(TuningTable::row_of(count)));
  }
  return {};
}

// A threshold until which one thing is done, or from which on another one is.
std::string size_text(const std::string& threshold, std::int64_t bytes) {
  if (bytes != Tuning::always) return to_string(Bytes(bytes));
  return threshold.ends_with("_from") ? "never" : "any size";
}

// When the thresholds hold.
std::string round_text(const Tuning& tuning) {
  if (tuning.round_ns == 0) return "sharing cores";
  return fmt::format("while a round of these takes about {} ns", tuning.round_ns);
}

std::string table_of(const std::vector<Calibration>& found) {
  std::string text;
  for (const Calibration& one : found) {
    text += fmt::format("{} ranks (used for {}), {}\n", one.ranks,
                        TuningTable::name_of_row(TuningTable::row_of(one.ranks)), round_text(one.tuning));
    text += fmt::format("  {:<20}  {:>10}  {:>10}  {:>6}  {}\n", "threshold", "default", "chosen", "time", "why");
    for (const TunedChoice& choice : one.choices) {
      const bool kept = choice.before == choice.after;
      text += fmt::format("  {:<20}  {:>10}  {:>10}  {:>6}  {}\n", choice.name, size_text(choice.name, choice.before),
                          kept ? "kept" : size_text(choice.name, choice.after),
                          kept ? "" : fmt::format("{:.2f}x", choice.ratio), choice.why);
    }
  }
  return text;
}

Json json_of(const std::vector<Calibration>& found, const std::string& file) {
  Json rows = Json::array();
  for (const Calibration& one : found) {
    Json choices = Json::array();
    for (const TunedChoice& choice : one.choices) {
      choices.push_back({{"threshold", choice.name},
                         {"default", choice.before},
                         {"chosen", choice.after},
                         {"ratio", choice.ratio},
                         {"why", choice.why}});
    }
    rows.push_back({{"ranks", one.ranks},
                    {"used_for", TuningTable::name_of_row(TuningTable::row_of(one.ranks))},
                    {"round_ns", one.tuning.round_ns},
                    {"choices", std::move(choices)}});
  }
  Json object = {{"machine", machine_name()}, {"calibrations", std::move(rows)}};
  if (!file.empty()) object["file"] = file;
  return object;
}

Status run(const CalibrateCommand& command) {
  const std::vector<std::int32_t> ranks = command.ranks.empty() ? usual_ranks() : command.ranks;
  HOCKET_CHECK(check_ranks(ranks));
  const std::string& folder = Env::get().cache;
  if (!command.dry_run && folder.empty())
    return save_tuning(TuningTable(), folder);  // says what is missing, before the long part
  TuningTable table = load_tuning(folder, processor_count());
  std::vector<Calibration> found;
  {
    Progress progress("calibrate", static_cast<std::int64_t>(ranks.size()) * calibration_steps);
    CalibrateOptions options;
    options.seconds = command.seconds / static_cast<double>(ranks.size());
    options.progress = [&] { progress.advance(); };
    for (const std::int32_t count : ranks) {
      HOCKET_TRY(Calibration one, calibrate(count, options));
      table.row(TuningTable::row_of(count)) = one.tuning;
      found.push_back(std::move(one));
    }
  }
  std::string file;
  if (!command.dry_run) {
    HOCKET_CHECK(save_tuning(table, folder));
    file = tuning_path(folder);
  }
  if (command.json) {
    say(json_of(found, file).dump(-1, ' ', false, Json::error_handler_t::replace) + "\n");
    return {};
  }
  say(table_of(found) + (file.empty() ? "nothing was written\n" : fmt::format("written to {}\n", file)));
  return {};
}

int run_calibrate(const CalibrateCommand& command) {
  if (!command.step.graph.empty()) {
    CalibrateStepOptions step = command.step;
    step.json = command.json;
    return run_calibrate_step(step);
  }
  const Status done = run(command);
  return done ? ok : complain(done.error());
}

void add_step_options(CLI::App& command, CalibrateStepOptions& step) {
  CLI::Option* const graph =
      command.add_option("GRAPH", step.graph, "a captured step: run it here, and measure its kernels and collectives");
  command
      .add_option("-o,--output", step.profile, "write the times of the kernels, for --profile of the other commands")
      ->needs(graph);
  command
      .add_option("--machine-output", step.machine,
                  "write a machine with the times of the collectives, for --machine of the other commands")
      ->needs(graph);
  command.add_option("--runs", step.runs, "of the step, beyond the first")
      ->needs(graph)
      ->check(CLI::Range(1, 1'000'000))
      ->capture_default_str();
  command.add_option("--threads", step.threads, "of each rank")
      ->needs(graph)
      ->check(CLI::Range(1, 1024))
      ->capture_default_str();
  command.add_flag("--as-rank", step.as_rank)->needs(graph)->group("");  // how the ranks are started
  for (const char* const of_machine : {"--ranks", "--seconds", "--dry-run"}) {
    graph->excludes(command.get_option(of_machine));
  }
}

}  // namespace

void add_calibrate(CLI::App& app, Action& action) {
  auto options = std::make_shared<CalibrateCommand>();
  CLI::App* command = app.add_subcommand(
      "calibrate", "Measure which communication algorithms suit this machine, or what a captured step takes on it");
  command
      ->add_option(
          "--ranks", options->ranks,
          "how many processes to measure with, as 2,4; by default 2, and 4, 8, 16 where there are so many cores")
      ->delimiter(',')
      ->check(CLI::Range(2, 1024));
  command->add_option("--seconds", options->seconds, "time for the measurements, roughly")
      ->check(CLI::Range(0.0, 1e6))
      ->capture_default_str();
  command->add_flag("--dry-run", options->dry_run, "write no file");
  command->add_flag("--json", options->json, "one JSON object");
  add_step_options(*command, options->step);
  command->footer(
      "Examples:\n"
      "  hocket calibrate\n"
      "  hocket calibrate --ranks 2,4 --seconds 60 --dry-run\n"
      "  hocket calibrate step.json.gz -o measured.json --machine-output here.json\n"
      "  hocket opt step.json.gz --estimates machine --machine here.json --profile measured.json\n"
      "\n"
      "Programs that run on this machine later find the result in HOCKET_CACHE, XDG_CACHE_HOME/hocket or "
      "~/.cache/hocket.\n"
      "Best on a machine that does nothing else meanwhile.");
  command->callback([options, &action] { action = [options] { return run_calibrate(*options); }; });
}

}  // namespace hocket::tool
