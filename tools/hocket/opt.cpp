#include <memory>
#include <nlohmann/json.hpp>

#include "command.h"
#include "hocket/compile/pass.h"
#include "hocket/ir/file.h"

namespace hocket::tool {

namespace {

struct OptOptions {
  std::string file;
  std::string to;
  std::vector<std::string> passes = {"verify"};
  bool list = false;
  bool json = false;
};

int list_passes(const PassRegistry& registry, bool json) {
  if (json) {
    nlohmann::ordered_json list = nlohmann::ordered_json::array();
    for (const Pass& pass : registry.passes()) list.push_back({{"name", pass.name}, {"summary", pass.summary}});
    say(list.dump() + "\n");
    return ok;
  }
  std::size_t width = 0;
  for (const Pass& pass : registry.passes()) width = std::max(width, pass.name.size());
  for (const Pass& pass : registry.passes()) say(fmt::format("{:<{}}  {}\n", pass.name, width, pass.summary));
  return ok;
}

int run_opt(const OptOptions& options) {
  const PassRegistry registry = PassRegistry::builtin();
  if (options.list) return list_passes(registry, options.json);
  if (options.file.empty())
    return complain({ErrorKind::usage, "opt needs a graph, or --list-passes; see hocket opt --help", {}});
  auto graph = read_graph(options.file);
  if (!graph) return complain(graph.error());
  nlohmann::ordered_json report = nlohmann::ordered_json::array();
  for (const std::string& name : options.passes) {
    const auto pass = registry.find(name);
    if (!pass) return complain(pass.error());
    auto result = (*pass)->run(*graph);
    if (!result) return complain(at(std::move(result).error(), options.file));
    if (options.json)
      report.push_back({{"pass", name}, {"changed", result->graph.has_value()}, {"report", result->report}});
    else say(fmt::format("{}: {}\n", name, result->report));
    if (result->graph) graph = std::move(*result->graph);
  }
  if (!options.to.empty()) {
    const Status written = write_graph(*graph, options.to);
    if (!written) return complain(written.error());
  }
  if (options.json) say(nlohmann::ordered_json{{"file", options.file}, {"passes", report}}.dump() + "\n");
  return ok;
}

}  // namespace

void add_opt(CLI::App& app, Action& action) {
  auto options = std::make_shared<OptOptions>();
  CLI::App* command = app.add_subcommand("opt", "Run passes over a graph");
  command->add_option("GRAPH", options->file, "text, JSON or gzipped JSON; - is standard input");
  command->add_option("--passes", options->passes, "names, separated by commas, in the order of running")
      ->delimiter(',')
      ->capture_default_str();
  command->add_option("-o,--output", options->to, "write the result; its name tells the form, as in hocket convert");
  command->add_flag("--list-passes", options->list, "the passes there are");
  command->add_flag("--json", options->json, "one JSON object");
  command->footer("Examples:\n  hocket opt --list-passes\n  hocket opt step.json.gz --passes verify");
  command->callback([options, &action] { action = [options] { return run_opt(*options); }; });
}

}  // namespace hocket::tool
