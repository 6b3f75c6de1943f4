#include <memory>
#include <nlohmann/json.hpp>
#include <unordered_map>

#include "before_and_after.h"
#include "command.h"
#include "cost_options.h"
#include "hocket/base/progress.h"
#include "hocket/compile/compile.h"
#include "hocket/ir/file.h"
#include "hocket/ir/text.h"
#include "hocket/report/report.h"
#include "pareto.h"

namespace hocket::tool {

namespace {

using Json = nlohmann::ordered_json;

struct OptOptions {
  std::string file;
  std::string to;
  std::string order_to;
  std::string html_to;
  std::string trace_to;
  std::string passes;
  std::vector<std::string> off;
  std::vector<std::string> print_after;
  std::string effort;
  bool reorder_only = false;
  bool pareto = false;
  CostFlags cost;
  bool no_verify = false;
  bool list = false;
  bool stats = false;
  std::size_t rows = 40;
  bool visualize = false;
  bool json = false;
};

int list_passes(const PassRegistry& registry, bool json) {
  if (json) {
    Json list = Json::array();
    for (const Pass& pass : registry.passes())
      list.push_back({{"name", pass.name}, {"summary", pass.summary}, {"options", pass.options}});
    say(list.dump() + "\n");
    return ok;
  }
  std::size_t width = 0;
  for (const Pass& pass : registry.passes()) width = std::max(width, pass.name.size());
  for (const Pass& pass : registry.passes()) {
    say(fmt::format("{:<{}}  {}\n", pass.name, width, pass.summary));
    if (!pass.options.empty()) say(fmt::format("{:<{}}    {}\n", "", width, pass.options));
  }
  say(fmt::format("\nWithout --passes: {}\n", to_string(default_passes())));
  return ok;
}

std::string print_subject(const Subject& subject) {
  return std::visit([](const auto& form) { return print(form); }, subject);
}

// ---------------------------------------------------------------- what comes out

Status write_subject(const Subject& subject, const std::string& path) {
  if (const auto* graph = std::get_if<Graph>(&subject)) return write_graph(*graph, path);
  if (format_of_name(path) == FileFormat::json)
    return fail(Error{ErrorKind::usage,
                      "a program of steps has no JSON form; give the file another ending, such as .hk", path});
  return write_bytes(path, print_subject(subject));
}

// The order of the original's nodes, where the nodes are still the same.
Result<std::string> order_json(const Graph& original, const Subject& subject) {
  const auto* graph = std::get_if<Graph>(&subject);
  const auto other = [] {
    return fail(ErrorKind::usage,
                "--order-out needs a result with the nodes of the original; these passes change them, use -o");
  };
  if (graph == nullptr || graph->size() != original.size()) return other();
  std::unordered_map<std::string_view, std::size_t> place;
  for (std::size_t i = 0; i < original.size(); ++i) place.emplace(original.name(NodeId(i)), i);
  Json order = Json::array();
  for (std::size_t i = 0; i < graph->size(); ++i) {
    const auto found = place.find(graph->name(NodeId(i)));
    if (found == place.end()) return other();
    order.push_back(found->second);
  }
  return Json{{"order", std::move(order)}}.dump() + "\n";
}

Json json_of(const Compiled& compiled, const OptOptions& options, Bytes limit) {
  Json passes = Json::array();
  for (const PassRun& run : compiled.runs) {
    passes.push_back({{"pass", run.call},
                      {"changed", run.changed},
                      {"skipped", run.skipped},
                      {"ms", run.time.count()},
                      {"verify_ms", run.verified.count()},
                      {"report", run.report},
                      {"notes", run.notes}});
  }
  const Measures& before = compiled.before;
  const Measures& after = compiled.after;
  return {{"file", options.file},
          {"compile_ms", compiled.total_ms},
          {"step_ms", after.step_time.ms()},
          {"exposed_ms", after.exposed.ms()},
          {"peak_bytes", after.peak.count},
          {"lower_bound_ms", after.lower_bound.ms()},
          {"original_step_ms", before.step_time.ms()},
          {"original_exposed_ms", before.exposed.ms()},
          {"original_peak_bytes", before.peak.count},
          {"original_lower_bound_ms", before.lower_bound.ms()},
          {"memory_limit_bytes", limit.count},
          {"within_limit", after.peak <= std::max(limit, before.peak)},
          {"collectives_before", before.collectives},
          {"collectives_after", after.collectives},
          {"nodes_before", before.steps},
          {"nodes_after", after.steps},
          {"assumptions", compiled.assumptions},
          {"passes", std::move(passes)}};
}

std::string summary_of(const Compiled& compiled, Bytes limit) {
  std::string text;
  for (const PassRun& run : compiled.runs) {
    text += fmt::format("{}: {} ({:.1f} ms)\n", run.call, run.skipped ? "switched off" : run.report, run.time.count());
    constexpr std::size_t most_notes = 5;
    for (std::size_t i = 0; i < std::min(run.notes.size(), most_notes); ++i)
      text += fmt::format("  {}\n", run.notes[i]);
    if (run.notes.size() > most_notes)
      text += fmt::format("  … {} more notes, --json has all\n", run.notes.size() - most_notes);
  }
  text += "\n" + before_and_after(compiled.before, compiled.after);
  text += fmt::format("  memory limit {}, lower bound of the step {}, compiled in {:.1f} ms\n", to_string(limit),
                      to_string(compiled.after.lower_bound), compiled.total_ms);
  if (compiled.after.peak > std::max(limit, compiled.before.peak))
    text += "  the peak is above the limit: not all of these passes keep it\n";
  return text;
}

// The table for each collective of the result.
Result<std::string> stats_table(const Compiled& compiled, const Subject& original, const CostModel& cost,
                                std::size_t rows) {
  std::unordered_map<std::string, Nanoseconds> was;
  HOCKET_CHECK(std::visit(
      [&](const auto& form) -> Status {
        HOCKET_TRY(const StepGraph steps, StepGraph::of(form, cost.times(form)));
        const auto exposed = exposed_times(steps, steps.original_order());
        for (const StepIndex collective : steps.collectives()) was.emplace(steps.name(collective), exposed[collective]);
        return {};
      },
      original));
  const auto look_up = [&](std::string_view name) -> std::optional<Nanoseconds> {
    const auto found = was.find(std::string(name));
    return found == was.end() ? std::nullopt : std::optional(found->second);
  };
  return std::visit(
      [&](const auto& form) -> Result<std::string> {
        HOCKET_TRY(const StepGraph steps, StepGraph::of(form, cost.times(form)));
        const OverlapReport report =
            overlap_report(steps, steps.original_order(), look_up, compiled.raised ? &*compiled.raised : nullptr,
                           compiled.sunk ? &*compiled.sunk : nullptr);
        return table_of(report, steps, rows);
      },
      compiled.subject);
}

Result<std::string> picture(const Subject& subject, const CostModel& cost) {
  return std::visit(
      [&](const auto& form) -> Result<std::string> {
        HOCKET_TRY(const StepGraph steps, StepGraph::of(form, cost.times(form)));
        return visualize_overlap(steps, steps.original_order());
      },
      subject);
}

Status write_reports(const Compiled& compiled, const Subject& original, const OptOptions& options,
                     const CompileOptions& how) {
  if (options.html_to.empty() && options.trace_to.empty()) return {};
  HOCKET_TRY(const ReportData report, report_of(original, compiled, CostModel(how.cost), how.memory_limit));
  if (!options.html_to.empty()) HOCKET_CHECK(write_report(options.html_to, report));
  if (!options.trace_to.empty()) HOCKET_CHECK(write_trace(options.trace_to, report));
  return {};
}

Status write_results(const Compiled& compiled, const Subject& original, const OptOptions& options,
                     const CompileOptions& how) {
  if (!options.order_to.empty()) {
    const auto* graph = std::get_if<Graph>(&original);
    if (graph == nullptr) return fail(ErrorKind::usage, "--order-out is for graphs, and {} is a program", options.file);
    HOCKET_TRY(const std::string order, order_json(*graph, compiled.subject));
    HOCKET_CHECK(write_bytes(options.order_to, order));
  }
  if (!options.to.empty()) HOCKET_CHECK(write_subject(compiled.subject, options.to));
  return write_reports(compiled, original, options, how);
}

Status print_results(const Compiled& compiled, const Subject& original, const OptOptions& options,
                     const CompileOptions& how) {
  const Bytes limit = std::max(how.memory_limit.of(compiled.before.peak), Bytes());
  if (options.json) {
    say(json_of(compiled, options, limit).dump() + "\n");
    return {};
  }
  say(summary_of(compiled, limit));
  const CostModel cost(how.cost);
  if (options.stats) {
    HOCKET_TRY(const std::string table, stats_table(compiled, original, cost, options.rows));
    say("\n" + table);
  }
  if (options.visualize) {
    HOCKET_TRY(const std::string text, picture(compiled.subject, cost));
    say("\n" + text);
  }
  return {};
}

// ---------------------------------------------------------------- the command

// --effort and --reorder-only are options of the pass overlap wherever it runs.
Status set_overlap(const OptOptions& options, std::vector<PassCall>& passes) {
  if (options.effort.empty() && !options.reorder_only) return {};
  if (passes.empty()) passes = options.reorder_only ? std::vector<PassCall>{{"overlap", {}}} : default_passes();
  bool found = false;
  for (PassCall& call : passes) {
    if (call.name != "overlap") continue;
    found = true;
    if (!options.effort.empty()) call.arguments.emplace_back("effort", options.effort);
    if (options.reorder_only) call.arguments.emplace_back("reorder_only", "on");
  }
  if (found) return {};
  return fail(ErrorKind::usage, "--effort and --reorder-only are for the pass overlap, which is not among {}",
              to_string(passes));
}

Result<CompileOptions> compile_options(const OptOptions& options, const PassRegistry& registry) {
  CompileOptions how;
  HOCKET_TRY(how.cost, options.cost.options());
  HOCKET_TRY(how.memory_limit, options.cost.limit());
  if (!options.passes.empty()) {
    HOCKET_TRY(how.passes, parse_passes(options.passes));
  }
  HOCKET_CHECK(set_overlap(options, how.passes));
  how.off = options.off;
  how.verify = !options.no_verify;
  how.reproducer_folder = ".";
  for (const std::string& name : options.print_after) {
    if (name != "all") HOCKET_CHECK(registry.find(name).map([](const Pass*) {}));
  }
  return how;
}

int run_opt(const OptOptions& options) {
  const PassRegistry registry = PassRegistry::builtin();
  if (options.list) return list_passes(registry, options.json);
  if (options.file.empty())
    return complain({ErrorKind::usage, "opt needs a graph, or --list-passes; see hocket opt --help", {}});
  auto how = compile_options(options, registry);
  if (!how) return complain(how.error());
  auto subject = read_graph_or_program(options.file);
  if (!subject) return complain(subject.error());
  if (options.pareto) {
    const Status shown = show_pareto(*subject, *how, options.json);
    return shown ? ok : complain(at(shown.error(), options.file));
  }
  const Subject original = *subject;
  Progress progress("opt", static_cast<std::int64_t>(std::max<std::size_t>(how->passes.size(), 1)));
  how->after_pass = [&](const PassRun& run, const Subject& now) {
    progress.advance();
    for (const std::string& name : options.print_after) {
      if (name == "all" || name == run.call.substr(0, run.call.find('(')))
        say(fmt::format("// after {}\n{}\n", run.call, print_subject(now)));
    }
  };
  const auto compiled = compile(std::move(*subject), *how, registry);
  if (!compiled) return complain(at(compiled.error(), options.file));
  if (const Status written = write_results(*compiled, original, options, *how); !written)
    return complain(written.error());
  const Status printed = print_results(*compiled, original, options, *how);
  return printed ? ok : complain(printed.error());
}

}  // namespace

void add_opt(CLI::App& app, Action& action) {
  auto options = std::make_shared<OptOptions>();
  CLI::App* command = app.add_subcommand("opt", "Compile a graph: run passes over it and say what they changed");
  command->add_option("GRAPH", options->file, "text, JSON or gzipped JSON; - is standard input");
  command->add_option("--passes", options->passes, "a,b(option=value),c: in the order of running");
  command->add_option("--off", options->off, "passes to leave out, separated by commas")->delimiter(',');
  command->add_option("--print-after", options->print_after, "print the program after these passes; all: after each")
      ->delimiter(',');
  command->add_option("--effort", options->effort, "how long the pass overlap may search")
      ->check(CLI::IsMember({"fast", "default", "max"}));
  command->add_flag("--reorder-only", options->reorder_only, "change the order and nothing else");
  command->add_flag("--pareto", options->pareto, "what more memory buys: the step time at several limits");
  options->cost.add_to(*command);
  command->add_option("-o,--output", options->to, "write the result; its name tells the form, as in hocket convert");
  command->add_option("--order-out", options->order_to,
                      "write the order of the original's nodes as {\"order\": [ids]}");
  command->add_option("--html", options->html_to,
                      "write a page that shows the timelines before and after; opens in a browser");
  command->add_option("--trace", options->trace_to, "write both timelines as a trace for ui.perfetto.dev");
  command->add_flag("--stats", options->stats, "a table with a row for each collective");
  command->add_option("--rows", options->rows, "at most so many rows, the most exposed ones (0: all)")
      ->capture_default_str();
  command->add_flag("--visualize", options->visualize, "the order, what runs under a collective indented");
  command->add_flag("--no-verify", options->no_verify, "don't check after each pass");
  command->add_flag("--list-passes", options->list, "the passes there are");
  command->add_flag("--json", options->json, "one JSON object");
  command->footer(
      "Examples:\n"
      "  hocket opt step.json.gz -o fast.json.gz                    the default list of passes\n"
      "  hocket opt step.json.gz --memory-limit 1.1x --stats\n"
      "  hocket opt step.json.gz --passes 'raise_comms,sink_waits' --order-out order.json\n"
      "  hocket opt step.json.gz --html overlap.html\n"
      "  hocket opt step.json.gz --effort max --memory-limit 12GiB  a minute at most\n"
      "  hocket opt step.json.gz --pareto\n"
      "  hocket opt --list-passes");
  command->callback([options, &action] { action = [options] { return run_opt(*options); }; });
}

}  // namespace hocket::tool
