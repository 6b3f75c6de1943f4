#include <memory>

#include "command.h"
#include "cost_options.h"
#include "hocket/ir/file.h"
#include "hocket/ir/json.h"
#include "hocket/ir/text.h"
#include "hocket/ir/verify.h"
#include "hocket/report/chakra.h"

namespace hocket::tool {

namespace {

struct ConvertOptions {
  std::string from;
  std::string to = "-";
  std::string format;
  CostFlags cost;
  bool brief = false;
  bool unverified = false;
};

// What it takes comes from the capture, and from the machine where the capture does not say.
Status write_as_chakra(const Subject& subject, const ConvertOptions& options) {
  HOCKET_TRY(const CostOptions cost, options.cost.options());
  HOCKET_TRY(const ChakraTrace trace, chakra_of(subject, CostModel(cost)));
  return write_chakra(options.to, trace);
}

int run_convert(const ConvertOptions& options) {
  const auto program = read_graph_or_program(options.from);
  if (!program) return complain(program.error());
  if (!options.unverified) {
    const auto problems = std::visit([](const auto& either) { return verify(either); }, *program);
    if (!problems.empty()) {
      Error error = to_error(problems, options.from);
      error.message += "\n  nothing was written; --unverified converts it all the same";
      return complain(error);
    }
  }
  if (options.to.ends_with(".et") && options.format.empty()) {
    const Status written = write_as_chakra(*program, options);
    return written ? ok : complain(written.error());
  }
  const FileFormat format = options.format.empty()     ? format_of_name(options.to)
                            : options.format == "json" ? FileFormat::json
                                                       : FileFormat::text;
  const Graph* graph = std::get_if<Graph>(&*program);
  if (format == FileFormat::json && graph == nullptr) {
    return complain({ErrorKind::usage,
                     "a program of steps has no JSON form; expected a name that does not end in .json", options.to});
  }
  const PrintOptions print_options{.facts = !options.brief};
  const std::string content = format == FileFormat::json ? write_graph_json(*graph)
                              : graph != nullptr         ? print(*graph, print_options)
                                                         : print(std::get<Program>(*program), print_options);
  const Status written = write_bytes(options.to, content);
  return written ? ok : complain(written.error());
}

}  // namespace

void add_convert(CLI::App& app, Action& action) {
  auto options = std::make_shared<ConvertOptions>();
  CLI::App* command = app.add_subcommand("convert", "Write a graph as program text, as JSON or as a Chakra trace");
  command->add_option("FROM", options->from, "text, JSON or gzipped JSON; - is standard input")->required();
  command
      ->add_option("TO,-o,--output", options->to,
                   "its name tells the form: .json, .json.gz, .et for a Chakra trace, else text; - is standard output")
      ->capture_default_str();
  command->add_option("--format", options->format, "text or json, whatever the name says")
      ->check(CLI::IsMember({"text", "json"}));
  command
      ->add_option("--machine", options->cost.machine,
                   "of a Chakra trace: what takes the time that the capture does not say")
      ->capture_default_str();
  command->add_flag("--brief", options->brief, "text without what was measured: for reading, not for reading back");
  command->add_flag("--unverified", options->unverified, "convert even a program with problems");
  command->footer(
      "Examples:\n  hocket convert step.json.gz step.hk\n  hocket convert step.hk step.json.gz\n  hocket convert "
      "--brief step.json.gz | less\n  hocket convert step.json.gz step.0.et");
  command->callback([options, &action] { action = [options] { return run_convert(*options); }; });
}

}  // namespace hocket::tool
