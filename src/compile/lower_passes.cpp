#include "compile/lower_passes.h"

#include <fmt/format.h>

#include <sstream>

#include "hocket/lower/lower.h"
#include "hocket/plan/plan.h"

namespace hocket {

namespace {

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

// The first line is the report, the others are notes.
PassResult described(Program program, const std::string& text) {
  PassResult result;
  result.subject = std::move(program);
  result.notes = lines_of(text);
  if (!result.notes.empty()) {
    result.report = result.notes.front();
    result.notes.erase(result.notes.begin());
  }
  return result;
}

Result<PassResult> run_lower(const Subject& subject, const PassContext& context, PassArguments& arguments) {
  LowerOptions options;
  const std::string algorithm = arguments.choice("algorithm", "auto", {"auto", "one_shot", "two_shot", "pipelined"});
  if (algorithm != "auto") options.force = reduce_algorithm_from_name(algorithm);
  options.one_shot_limit = arguments.bytes("one_shot").value_or(options.one_shot_limit);
  options.two_shot_limit = arguments.bytes("two_shot").value_or(options.two_shot_limit);
  options.copy_in_limit = arguments.bytes("copy_in").value_or(options.copy_in_limit);
  options.symmetric = arguments.flag("symmetric", options.symmetric);
  options.ranks_per_host = static_cast<int>(context.cost->options().machine.ranks_per_host);
  HOCKET_CHECK(arguments.finish());
  const Graph& graph = std::get<Graph>(subject);
  HOCKET_TRY(Lowered lowered, lower(graph, options));
  const std::string text = describe(lowered.report, graph, lowered.program);
  return described(std::move(lowered.program), text);
}

Result<PassResult> run_plan(const Subject& subject, const PassContext&, PassArguments& arguments) {
  PlanOptions options;
  options.alignment = arguments.integer("alignment", options.alignment);
  options.effort = arguments.integer("effort", options.effort);
  options.carry = arguments.flag("carry", options.carry);
  HOCKET_CHECK(arguments.finish());
  HOCKET_TRY(Planned planned, plan(std::get<Program>(subject), options));
  const PlanReport& report = planned.report;
  PassResult result;
  result.report = fmt::format("{} arena{} of {}, the lower bound is {} ({:.3f})", report.arenas.size(),
                              report.arenas.size() == 1 ? "" : "s", to_string(report.size()), to_string(report.bound()),
                              report.ratio());
  result.notes = lines_of(describe(report));
  result.subject = std::move(planned.program);
  return result;
}

}  // namespace

std::vector<Pass> lower_passes() {
  return {
      {"lower", "turn the graph into a program of steps on buffers", Form::graph,
       "algorithm=auto|one_shot|two_shot|pipelined, one_shot=SIZE, two_shot=SIZE, copy_in=SIZE, symmetric=on|off",
       run_lower},
      {"plan", "give every buffer an offset in an arena", Form::program, "alignment=64, effort=N, carry=on|off",
       run_plan},
  };
}

}  // namespace hocket
