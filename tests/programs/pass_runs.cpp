// Runs of the pipeline for tests in program text:
//   --- run opt LIMIT PASSES       compiles with these passes under this memory limit; prints the result
//   --- run order_of LIMIT PASSES  the same; prints the names in their order, one line
//   --- run report_of LIMIT PASSES the same; prints each pass's report and notes
// Times are those of the text; what has none takes what the machine h100x8 says.
#include "hocket/compile/compile.h"
#include "support/program_test.h"

namespace hocket {
namespace {

Result<Compiled> compiled(GraphOrProgram input, std::string_view arguments) {
  const std::size_t blank = arguments.find(' ');
  CompileOptions options;
  HOCKET_TRY(options.memory_limit, parse_memory_limit(arguments.substr(0, blank)));
  HOCKET_TRY(options.passes, parse_passes(arguments.substr(blank + 1)));
  HOCKET_TRY(options.cost.machine, find_machine("h100x8"));
  return compile(std::move(input), options);
}

template <class Print>
Run run_with(Print print) {
  return [print](GraphOrProgram input, std::string_view arguments) {
    RunOutcome outcome;
    auto result = compiled(std::move(input), arguments);
    if (result) print(std::move(*result), outcome);
    else outcome.error = result.error();
    return outcome;
  };
}

std::string names_of(const Graph& graph) {
  std::string text;
  for (std::size_t i = 0; i < graph.size(); ++i) {
    if (graph.node(NodeId(i)).kind == NodeKind::op)
      text += (text.empty() ? "" : " ") + std::string(graph.name(NodeId(i)));
  }
  return text;
}

std::string names_of(const Program& program) {
  std::string text;
  for (std::size_t i = 0; i < program.size(); ++i)
    text += (text.empty() ? "" : " ") + std::string(program.name(StepId(i)));
  return text;
}

const bool registered = [] {
  register_run("opt",
               run_with([](Compiled result, RunOutcome& outcome) { outcome.program = std::move(result.subject); }));
  register_run("order_of", run_with([](const Compiled& result, RunOutcome& outcome) {
                 outcome.text = std::visit([](const auto& form) { return names_of(form); }, result.subject) + "\n";
               }));
  register_run("report_of", run_with([](const Compiled& result, RunOutcome& outcome) {
                 outcome.text = "";
                 for (const PassRun& run : result.runs) {
                   *outcome.text += run.call + ": " + run.report + "\n";
                   for (const std::string& note : run.notes) *outcome.text += note + "\n";
                 }
               }));
  return true;
}();

}  // namespace
}  // namespace hocket
