// Runs of the cost model for tests in program text:
//   --- run cost MACHINE OPTIONS     what each node or step takes and where that comes from; then the notes
// OPTIONS: captured=off compute=FACTOR communication=FACTOR name:NODE=NANOSECONDS call:CALL=NANOSECONDS
#include <charconv>

#include "hocket/cost/cost_model.h"
#include "support/program_test.h"

namespace hocket {
namespace {

double number(std::string_view text) {
  double value = -1;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

Status read_measured(std::string_view option, std::size_t equals, Profile& profile) {
  const Nanoseconds time = Nanoseconds::from_ns(number(option.substr(equals + 1)));
  const std::string_view key = option.substr(5, equals - 5);
  if (option.starts_with("call:")) return profile.set_call(key, time);
  profile.set_name(std::string(key), time);
  return {};
}

Status read_option(std::string_view option, CostOptions& options) {
  const std::size_t equals = option.rfind('=');
  const std::string_view value = equals == std::string_view::npos ? "" : option.substr(equals + 1);
  if (option.starts_with("name:") || option.starts_with("call:")) return read_measured(option, equals, options.profile);
  if (option == "captured=off") options.captured = false;
  else if (option.starts_with("compute=")) options.compute_multiplier = number(value);
  else if (option.starts_with("communication=")) options.communication_multiplier = number(value);
  else return fail(ErrorKind::usage, "unknown option '{}' of --- run cost", option);
  return {};
}

Result<CostOptions> read_options(std::string_view arguments) {
  CostOptions options;
  bool first = true;
  while (!arguments.empty()) {
    const std::size_t blank = arguments.find(' ');
    const std::string_view word = arguments.substr(0, blank);
    if (std::exchange(first, false)) {
      HOCKET_TRY(options.machine, find_machine(std::string(word)));
    } else {
      HOCKET_CHECK(read_option(word, options));
    }
    arguments = blank == std::string_view::npos ? "" : arguments.substr(blank + 1);
  }
  HOCKET_CHECK(check(options));
  return options;
}

// Inputs and outputs take nothing in every program: only what is called is listed.
std::string listed(const Graph& graph, const Estimates& all) {
  std::string text;
  for (std::size_t i = 0; i < graph.size(); ++i) {
    if (graph.node(NodeId(i)).kind != NodeKind::op) continue;
    text += fmt::format("{}: {} {}\n", graph.name(NodeId(i)), to_string(all.times[i]), name_of(all.sources[i]));
  }
  return text;
}

std::string listed(const Program& program, const Estimates& all) {
  std::string text;
  for (std::size_t i = 0; i < program.size(); ++i)
    text += fmt::format("{}: {} {}\n", program.name(StepId(i)), to_string(all.times[i]), name_of(all.sources[i]));
  return text;
}

RunOutcome run_cost(GraphOrProgram input, std::string_view arguments) {
  RunOutcome outcome;
  auto options = read_options(arguments);
  if (!options) {
    outcome.error = options.error();
    return outcome;
  }
  const CostModel cost(std::move(*options));
  outcome.text = std::visit(
      [&](const auto& program) {
        const Estimates all = cost.estimate(program);
        std::string text = listed(program, all);
        for (const std::string& note : all.notes) text += "note: " + note + "\n";
        return text;
      },
      input);
  outcome.program = std::move(input);
  return outcome;
}

[[maybe_unused]] const bool registered = [] {
  register_run("cost", run_cost);
  return true;
}();

}  // namespace
}  // namespace hocket
