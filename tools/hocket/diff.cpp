#include "hocket/report/diff.h"

#include <memory>
#include <nlohmann/json.hpp>

#include "before_and_after.h"
#include "command.h"
#include "cost_options.h"
#include "hocket/report/report.h"
#include "read_verified.h"

namespace hocket::tool {

namespace {

using Json = nlohmann::ordered_json;

struct DiffOptions {
  std::string before, after;
  std::string html;
  CostFlags cost;
  std::size_t rows = 20;
  bool json = false;
};

struct DiffSide {
  Measures measures;
  ShownTimeline line;
};

Result<DiffSide> read_side(const std::string& file, const std::string& title, const CostModel& cost) {
  HOCKET_TRY(const Subject subject, read_verified(file));
  DiffSide side;
  HOCKET_TRY(side.measures, measure(subject, cost));
  const std::string source = fmt::format("estimated for {}", cost.options().machine.name);
  HOCKET_TRY(side.line, estimated_timeline(subject, cost, {.title = title, .source = source}));
  return side;
}

Json json_of(const TimelineDiff& diff, const DiffSide& before, const DiffSide& after) {
  Json rows = Json::array();
  for (const MovedCollective& row : diff.collectives) {
    rows.push_back({{"collective", row.name},
                    {"moved", row.moved},
                    {"start_ms", {row.start_before.ms(), row.start_after.ms()}},
                    {"wait_ms", {row.wait_before.ms(), row.wait_after.ms()}},
                    {"exposed_ms", {row.exposed_before.ms(), row.exposed_after.ms()}}});
  }
  return {{"same_order", diff.same_order()},
          {"step_ms", {before.measures.step_time.ms(), after.measures.step_time.ms()}},
          {"exposed_ms", {before.measures.exposed.ms(), after.measures.exposed.ms()}},
          {"peak_bytes", {before.measures.peak.count, after.measures.peak.count}},
          {"moved", diff.moved},
          {"gone", diff.gone},
          {"added", diff.added},
          {"collectives_gone", diff.collectives_gone},
          {"collectives_added", diff.collectives_added},
          {"collectives", std::move(rows)}};
}

Status diff_files(const DiffOptions& options) {
  HOCKET_TRY(CostOptions cost_options, options.cost.options());
  const CostModel cost(std::move(cost_options));
  HOCKET_TRY(DiffSide before, read_side(options.before, options.before, cost));
  HOCKET_TRY(DiffSide after, read_side(options.after, options.after, cost));
  const TimelineDiff diff = diff_timelines(before.line, after.line);
  say(options.json ? json_of(diff, before, after).dump() + "\n"
                   : before_and_after(before.measures, after.measures) + "\n" + in_words(diff, options.rows));
  if (options.html.empty()) return {};
  ReportData report;
  report.title = fmt::format("{} and {}", options.before, options.after);
  report.timelines = {std::move(before.line), std::move(after.line)};
  return write_report(options.html, report);
}

}  // namespace

void add_diff(CLI::App& app, Action& action) {
  auto options = std::make_shared<DiffOptions>();
  CLI::App* command =
      app.add_subcommand("diff", "Compare two programs or schedules: what moved, and what that changed");
  command->add_option("A", options->before, "text, JSON or gzipped JSON")->required();
  command->add_option("B", options->after, "the other one; steps are recognised by their names")->required();
  options->cost.add_to(*command);
  command->add_option("--rows", options->rows, "at most so many collectives, those that changed the most")
      ->capture_default_str();
  command->add_option("--html", options->html, "write a page that shows both timelines; opens in a browser");
  command->add_flag("--json", options->json, "one JSON object");
  command->footer(
      "Examples:\n"
      "  hocket diff step.json.gz fast.json.gz\n"
      "  hocket diff yesterday.json.gz today.json.gz --html diff.html");
  command->callback([options, &action] {
    action = [options] {
      const Status done = diff_files(*options);
      return done ? ok : complain(done.error());
    };
  });
}

}  // namespace hocket::tool
