// Runs of planning for tests in program text:
//   --- run plan [ALIGNMENT]           the program with its buffers placed
//   --- run plan_report [ALIGNMENT]    the size of each arena next to the lower bound
#include "hocket/plan/plan.h"
#include "support/program_test.h"

namespace hocket {
namespace {

RunOutcome run_plan(const GraphOrProgram& input, std::string_view arguments, bool report) {
  RunOutcome outcome;
  const auto* program = std::get_if<Program>(&input);
  if (program == nullptr) {
    outcome.error = Error{ErrorKind::usage, "planning takes a program, got a graph", {}};
    return outcome;
  }
  PlanOptions options;
  if (!arguments.empty()) options.alignment = std::stoll(std::string(arguments));
  auto planned = plan(*program, options);
  if (!planned) {
    outcome.error = planned.error();
    return outcome;
  }
  if (report) outcome.text = describe(planned->report);
  outcome.program = std::move(planned->program);
  return outcome;
}

[[maybe_unused]] const bool registered = [] {
  register_run("plan", [](const GraphOrProgram& input, std::string_view arguments) {
    return run_plan(input, arguments, false);
  });
  register_run("plan_report", [](const GraphOrProgram& input, std::string_view arguments) {
    return run_plan(input, arguments, true);
  });
  return true;
}();

}  // namespace
}  // namespace hocket
