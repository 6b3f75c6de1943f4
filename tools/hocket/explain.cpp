#include "hocket/schedule/explain.h"

#include <memory>
#include <nlohmann/json.hpp>

#include "command.h"
#include "cost_options.h"
#include "explain_flight.h"
#include "hocket/base/nearest.h"
#include "hocket/compile/compile.h"
#include "hocket/ir/file.h"
#include "hocket/ir/verify.h"
#include "hocket/report/picture.h"
#include "hocket/report/report.h"
#include "hocket/schedule/overlap_report.h"
#include "terminal.h"

namespace hocket::tool {

namespace {

using Json = nlohmann::ordered_json;

struct ExplainOptions {
  std::string file;
  std::string collective;
  std::vector<std::string> flights;
  CostFlags cost;
  bool json = false;
};

Result<StepIndex> find_collective(const StepGraph& steps, std::string_view name) {
  std::vector<std::string_view> known;
  for (const StepIndex collective : steps.collectives()) {
    if (steps.name(collective) == name) return collective;
    // A wait, or the name of a wait's result, means its collective.
    if (steps.first_wait(collective) != no_step && steps.name(steps.first_wait(collective)) == name) return collective;
    known.push_back(steps.name(collective));
  }
  const std::string_view near = nearest(name, known);
  return fail(ErrorKind::usage, "there is no collective {}{}; hocket explain GRAPH lists them", name,
              near.empty() ? "" : fmt::format(", did you mean {}?", near));
}

std::string list_of(const StepGraph& steps) {
  constexpr std::size_t most = 20;
  const OverlapReport report = overlap_report(steps, steps.original_order(), nullptr);
  std::vector<const CollectiveStats*> rows;
  for (const CollectiveStats& stats : report.collectives) rows.push_back(&stats);
  std::stable_sort(rows.begin(), rows.end(), [](const CollectiveStats* a, const CollectiveStats* b) {
    return a->exposed_after > b->exposed_after;
  });
  std::string text = fmt::format("{} collectives; the most exposed:\n", rows.size());
  for (std::size_t i = 0; i < std::min(most, rows.size()); ++i) {
    text += fmt::format("  {:<40} {:>10} of {:>10} exposed\n", steps.name(rows[i]->collective),
                        to_string(rows[i]->exposed_after), to_string(rows[i]->time));
  }
  return text + "hocket explain GRAPH COLLECTIVE says why\n";
}

Json json_list(const StepGraph& steps) {
  Json list = Json::array();
  for (const CollectiveStats& stats : overlap_report(steps, steps.original_order(), nullptr).collectives) {
    list.push_back({{"collective", steps.name(stats.collective)},
                    {"group", steps.lane_name(steps.lane(stats.collective))},
                    {"time_ms", stats.time.ms()},
                    {"hidden_ms", stats.overlapped.ms()},
                    {"exposed_ms", stats.exposed_after.ms()}});
  }
  return list;
}

Json json_of(const Attempt& made, const StepGraph& steps) {
  Json grouped = Json::array();
  for (const StepIndex step : made.move.grouped) grouped.push_back(steps.name(step));
  Json object = {{"passed", made.move.passed},      {"grouped", std::move(grouped)},
                 {"exposed_ms", made.exposed.ms()}, {"step_ms", made.step_time.ms()},
                 {"peak_bytes", made.peak.count},   {"limit", name_of(made.move.limit)}};
  if (made.move.step != no_step) object["limit_step"] = steps.name(made.move.step);
  if (made.move.limit == Limit::memory) object["limit_bytes"] = made.move.memory.count;
  return object;
}

Json json_of(const Explanation& why, const StepGraph& steps) {
  Json object = {{"collective", steps.name(why.collective)},
                 {"group", steps.lane_name(steps.lane(why.collective))},
                 {"time_ms", why.time.ms()},
                 {"issued_ms", why.issued.ms()},
                 {"begin_ms", why.begin.ms()},
                 {"end_ms", why.end.ms()},
                 {"exposed_ms", why.exposed.ms()},
                 {"step_ms", why.step_time.ms()},
                 {"peak_bytes", why.peak.count},
                 {"memory_limit_bytes", why.limit.count}};
  if (why.awaited) object["awaited_ms"] = why.awaited->ms();
  if (why.behind != no_step) object["behind"] = steps.name(why.behind);
  object["earlier"] = json_of(why.earlier, steps);
  object["earlier_with_memory"] = json_of(why.earlier_with_memory, steps);
  object["earlier_out_of_order"] = json_of(why.earlier_out_of_order, steps);
  object["later"] = json_of(why.later, steps);
  object["later_with_memory"] = json_of(why.later_with_memory, steps);
  return object;
}

Status say_overview(const Subject& subject, const StepGraph& steps, const CostModel& cost,
                    const ExplainOptions& options) {
  if (options.json) {
    say(json_list(steps).dump() + "\n");
    return {};
  }
  HOCKET_TRY(const ShownTimeline line, estimated_timeline(subject, cost, {}));
  const Terminal terminal = standard_output();
  say(overlap_picture(line, {.width = terminal.width, .colour = terminal.colour}) + "\n" + list_of(steps));
  return {};
}

Status explain_subject(const Subject& subject, const ExplainOptions& options) {
  HOCKET_TRY(CostOptions cost_options, options.cost.options());
  HOCKET_TRY(const MemoryLimit limit, options.cost.limit());
  const CostModel cost(std::move(cost_options));
  return std::visit(
      [&](const auto& form) -> Status {
        if (const auto problems = verify(form); !problems.empty()) return fail(to_error(problems, form.name()));
        const Estimates estimates = cost.estimate(form);
        warn_of_notes(form.name(), estimates.notes);
        HOCKET_TRY(const StepGraph steps, StepGraph::of(form, estimates.times));
        if (options.collective.empty()) return say_overview(subject, steps, cost, options);
        HOCKET_TRY(const StepIndex collective, find_collective(steps, options.collective));
        HOCKET_TRY(const StepGraph free_order, StepGraph::of(form, estimates.times, {.keep_collective_order = false}));
        const auto order = steps.original_order();
        const Bytes bytes = limit.of(memory_curve(steps, order).peak);
        const Explanation why = explain(steps, free_order, order, collective, bytes);
        say(options.json ? json_of(why, steps).dump() + "\n" : in_words(why, steps));
        return {};
      },
      subject);
}

int run_explain(const ExplainOptions& options) {
  if (!options.flights.empty()) return run_explain_flight(options.flights, options.json);
  if (options.file.empty()) {
    return complain({ErrorKind::usage,
                     "explain needs a graph or flight reports: hocket explain GRAPH [COLLECTIVE], "
                     "hocket explain --flight FILE...",
                     {}});
  }
  const auto subject = read_graph_or_program(options.file);
  if (!subject) return complain(subject.error());
  const Status done = explain_subject(*subject, options);
  return done ? ok : complain(at(done.error(), options.file));
}

}  // namespace

void add_explain(CLI::App& app, Action& action) {
  auto options = std::make_shared<ExplainOptions>();
  CLI::App* command =
      app.add_subcommand("explain", "Say why a collective is exposed and what would help, or why ranks failed");
  CLI::Option* const graph =
      command->add_option("GRAPH", options->file, "text, JSON or gzipped JSON; - is standard input");
  command->add_option("COLLECTIVE", options->collective,
                      "its name; without it: a picture of the step and the most exposed ones");
  command
      ->add_option("--flight", options->flights,
                   "instead of a graph: reports that ranks left in HOCKET_FLIGHT when they failed")
      ->excludes(graph);
  options->cost.add_to(*command);
  command->add_flag("--json", options->json, "one JSON object");
  command->footer(
      "Examples:\n"
      "  hocket explain step.json.gz\n"
      "  hocket explain step.json.gz all_gather_into_tensor_3 --memory-limit 1.1x\n"
      "  hocket explain --flight flights/flight-world-rank*.json");
  command->callback([options, &action] { action = [options] { return run_explain(*options); }; });
}

}  // namespace hocket::tool
