#include <memory>
#include <nlohmann/json.hpp>

#include "command.h"
#include "hocket/base/progress.h"
#include "hocket/ir/file.h"
#include "hocket/ir/verify.h"

namespace hocket::tool {

namespace {

struct VerifyOptions {
  std::vector<std::string> files;
  bool json = false;
  std::size_t most = 50;
};

nlohmann::ordered_json as_json(const Problem& problem) {
  return {{"kind", name_of(problem.kind)}, {"node", problem.node}, {"message", problem.message}};
}

int run_verify(const VerifyOptions& options) {
  int code = ok;
  nlohmann::ordered_json report = nlohmann::ordered_json::array();
  Progress progress("verify", static_cast<std::int64_t>(options.files.size()));
  for (const std::string& file : options.files) {
    const auto program = read_graph_or_program(file);
    progress.advance();
    if (!program) {
      code = std::max(code, static_cast<int>(problem));
      if (options.json)
        report.push_back({{"file", file},
                          {"ok", false},
                          {"error", program.error().to_string()},
                          {"problems", nlohmann::json::array()}});
      else complain(program.error());
      continue;
    }
    const auto problems = std::visit([](const auto& either) { return verify(either); }, *program);
    const std::size_t size = std::visit([](const auto& either) { return either.size(); }, *program);
    if (!problems.empty()) code = problem;
    if (options.json) {
      nlohmann::ordered_json list = nlohmann::ordered_json::array();
      for (const Problem& one : problems) list.push_back(as_json(one));
      report.push_back({{"file", file}, {"ok", problems.empty()}, {"nodes", size}, {"problems", std::move(list)}});
      continue;
    }
    const char* unit = std::holds_alternative<Graph>(*program) ? "nodes" : "steps";
    if (problems.empty()) {
      say(fmt::format("{}: ok, {} {}\n", file, size, unit));
    } else {
      say(fmt::format("{}: {}\n", file, to_error(problems, fmt::format("{} {}", size, unit), options.most).message));
    }
  }
  if (options.json) say((options.files.size() == 1 ? report[0] : report).dump() + "\n");
  return code;
}

}  // namespace

void add_verify(CLI::App& app, Action& action) {
  auto options = std::make_shared<VerifyOptions>();
  CLI::App* command = app.add_subcommand("verify", "Say everything that is wrong with a graph or a program of steps");
  command->add_option("FILE", options->files, "text, JSON or gzipped JSON; - is standard input")->required();
  command->add_option("--most", options->most, "print at most so many problems of a file")->capture_default_str();
  command->add_flag("--json", options->json, "one JSON object (a list of them for several files)");
  command->footer("Example:\n  hocket verify step.json.gz && echo sound");
  command->callback([options, &action] { action = [options] { return run_verify(*options); }; });
}

}  // namespace hocket::tool
