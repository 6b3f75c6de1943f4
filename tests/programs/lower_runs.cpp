// Runs of lowering for tests in program text:
//   --- run lower OPTIONS            the program, printed
//   --- run lower_report OPTIONS     the report, in words
// OPTIONS: one_shot=BYTES two_shot=BYTES copy_in=BYTES force=one_shot|two_shot|pipelined symmetric=off ordinary=GROUP host=RANKS
#include <charconv>

#include "hocket/lower/lower.h"
#include "support/program_test.h"

namespace hocket {
namespace {

std::int64_t number(std::string_view text) {
  std::int64_t value = -1;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

std::optional<Error> read_option(std::string_view option, LowerOptions& options) {
  const std::size_t equals = option.find('=');
  const std::string_view key = option.substr(0, equals);
  const std::string_view value = equals == std::string_view::npos ? "" : option.substr(equals + 1);
  if (key == "one_shot") options.one_shot_limit = Bytes(number(value));
  else if (key == "two_shot") options.two_shot_limit = Bytes(number(value));
  else if (key == "copy_in") options.copy_in_limit = Bytes(number(value));
  else if (key == "force") options.force = reduce_algorithm_from_name(value);
  else if (key == "symmetric") options.symmetric = value != "off";
  else if (key == "ordinary") options.ordinary_groups.emplace_back(value);
  else if (key == "host") options.ranks_per_host = static_cast<int>(number(value));
  else return Error{ErrorKind::usage, fmt::format("unknown option '{}' of --- run lower", option), {}};
  return std::nullopt;
}

RunOutcome run_lower(const GraphOrProgram& input, std::string_view arguments, bool report) {
  RunOutcome outcome;
  const auto* graph = std::get_if<Graph>(&input);
  if (graph == nullptr) {
    outcome.error = Error{ErrorKind::usage, "lowering takes a graph, got a program", {}};
    return outcome;
  }
  LowerOptions options;
  while (!arguments.empty()) {
    const std::size_t blank = arguments.find(' ');
    if ((outcome.error = read_option(arguments.substr(0, blank), options))) return outcome;
    arguments = blank == std::string_view::npos ? "" : arguments.substr(blank + 1);
  }
  auto lowered = lower(*graph, options);
  if (!lowered) {
    outcome.error = lowered.error();
    return outcome;
  }
  if (report) outcome.text = describe(lowered->report, *graph, lowered->program);
  outcome.program = std::move(lowered->program);
  return outcome;
}

[[maybe_unused]] const bool registered = [] {
  register_run("lower", [](const GraphOrProgram& input, std::string_view arguments) {
    return run_lower(input, arguments, false);
  });
  register_run("lower_report", [](const GraphOrProgram& input, std::string_view arguments) {
    return run_lower(input, arguments, true);
  });
  return true;
}();

}  // namespace
}  // namespace hocket
