#include "hocket/ir/stats.h"

#include <memory>
#include <nlohmann/json.hpp>

#include "command.h"
#include "hocket/base/progress.h"
#include "hocket/ir/file.h"
#include "hocket/ir/verify.h"

namespace hocket::tool {

namespace {

struct StatsOptions {
  std::vector<std::string> files;
  bool json = false;
  bool table = false;
  std::size_t rows = 0;
};

int run_stats(const StatsOptions& options) {
  int code = ok;
  nlohmann::ordered_json report = nlohmann::ordered_json::array();
  Progress progress("stats", static_cast<std::int64_t>(options.files.size()));
  bool first = true;
  for (const std::string& file : options.files) {
    const auto graph = read_graph(file);
    progress.advance();
    if (!graph) {
      code = complain(graph.error());
      continue;
    }
    if (const auto problems = verify(*graph); !problems.empty()) {
      code = complain(at(to_error(problems, "the graph"), file));
      continue;
    }
    const GraphStats stats = stats_of(*graph);
    if (options.json) {
      report.push_back(nlohmann::ordered_json::parse(stats_json(stats)));
      continue;
    }
    say((first ? "" : "\n") + summary(stats));
    if (options.table) say("\n" + table_of(*graph, options.rows));
    first = false;
  }
  if (options.json) say((options.files.size() == 1 && report.size() == 1 ? report[0] : report).dump() + "\n");
  return code;
}

}  // namespace

void add_stats(CLI::App& app, Action& action) {
  auto options = std::make_shared<StatsOptions>();
  CLI::App* command = app.add_subcommand(
      "stats", "What a graph holds, moves and needs: counts, bytes, times, peak memory, critical path");
  command->add_option("FILE", options->files, "text, JSON or gzipped JSON; - is standard input")->required();
  command->add_flag("--table", options->table, "also a table of all nodes with sizes and times");
  command->add_option("--rows", options->rows, "at most so many rows of the table (0: all)")->capture_default_str();
  command->add_flag("--json", options->json, "one JSON object (a list of them for several files)");
  command->footer(
      "Examples:\n  hocket stats step.json.gz\n  hocket stats --table --rows 40 step.json.gz\n  hocket stats --json "
      "step.json.gz | jq .peak_bytes");
  command->callback([options, &action] { action = [options] { return run_stats(*options); }; });
}

}  // namespace hocket::tool
