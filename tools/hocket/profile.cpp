#include "hocket/cost/profile.h"

#include <memory>
#include <nlohmann/json.hpp>

#include "command.h"
#include "hocket/ir/file.h"
#include "hocket/report/kineto.h"

namespace hocket::tool {

namespace {

struct ProfileOptions {
  std::string trace, graph;
  std::string to;
  bool json = false;
};

std::string in_words(const KinetoTrace& trace, const KinetoMatch& match) {
  std::string text = fmt::format(
      "{} different calls and {} collectives in the trace, {}\n", trace.calls.size(), trace.collectives.size(),
      trace.kernels ? "timed by their GPU kernels" : "timed on the host: it has no GPU kernels");
  text += fmt::format("of the program: {} of {} different calls measured, {} of {} collectives\n", match.found,
                      match.found + match.missing, match.collectives_found,
                      match.collectives_found + match.collectives_missing);
  if (!match.examples.empty()) text += fmt::format("not in the trace: {}\n", fmt::join(match.examples, ", "));
  return text;
}

Status make_profile(const ProfileOptions& options) {
  HOCKET_TRY(const KinetoTrace trace, read_kineto(options.trace));
  HOCKET_TRY(const Subject subject, read_graph_or_program(options.graph));
  const KinetoMatch match = profile_of(trace, subject);
  if (match.profile.size() == 0) {
    return fail(ErrorKind::input, "nothing of {} is in {}: is it a trace of this program, with the same sizes?",
                options.graph, options.trace);
  }
  if (!options.to.empty()) HOCKET_CHECK(write_profile(match.profile, options.to));
  if (options.json) {
    const nlohmann::ordered_json object = {{"calls_in_trace", trace.calls.size()},
                                           {"collectives_in_trace", trace.collectives.size()},
                                           {"gpu_kernels", trace.kernels},
                                           {"calls_found", match.found},
                                           {"calls_missing", match.missing},
                                           {"collectives_found", match.collectives_found},
                                           {"collectives_missing", match.collectives_missing}};
    say(object.dump() + "\n");
  } else {
    say(in_words(trace, match));
  }
  return {};
}

}  // namespace

void add_profile(CLI::App& app, Action& action) {
  auto options = std::make_shared<ProfileOptions>();
  CLI::App* command = app.add_subcommand("profile", "Take measured times from a trace of PyTorch's profiler");
  command->add_option("TRACE", options->trace, "of export_chrome_trace() with record_shapes=True; .gz too")->required();
  command->add_option("GRAPH", options->graph, "the program whose calls are looked up")->required();
  command->add_option("-o,--output", options->to, "write the times, for --profile of the other commands");
  command->add_flag("--json", options->json, "one JSON object");
  command->footer(
      "Example:\n"
      "  hocket profile trace.json.gz step.json.gz -o measured.json\n"
      "  hocket opt step.json.gz --estimates machine --profile measured.json");
  command->callback([options, &action] {
    action = [options] {
      const Status done = make_profile(*options);
      return done ? ok : complain(done.error());
    };
  });
}

}  // namespace hocket::tool
