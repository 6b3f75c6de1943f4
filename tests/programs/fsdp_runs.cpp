// The passes of room fsdp for tests in program text: `--- run NAME`. What a pass says stands behind the program.
#include "hocket/fsdp/enforce_fsdp_order.h"
#include "hocket/fsdp/reinplace_all_gather.h"
#include "hocket/fsdp/remove_dead_getitems.h"
#include "hocket/fsdp/remove_unsharded_param_inputs.h"
#include "hocket/ir/text.h"
#include "support/program_test.h"

namespace hocket {
namespace {

template <class Pass>
void register_pass(const std::string& name, Pass pass) {
  register_run(name, [pass](const GraphOrProgram& input, std::string_view) {
    RunOutcome outcome;
    const Result<RewriteResult> result = pass(std::get<Graph>(input));
    if (!result) {
      outcome.error = result.error();
      return outcome;
    }
    const Graph& graph = result->graph ? *result->graph : std::get<Graph>(input);
    std::string text = print(graph) + "report: " + result->report + "\n";
    for (const std::string& note : result->notes) text += "note: " + note + "\n";
    if (!result->graph) text += "unchanged\n";
    outcome.problems = verify(graph);
    outcome.text = std::move(text);
    return outcome;
  });
}

const bool registered = [] {
  register_pass("reinplace_all_gather", [](const Graph& graph) { return reinplace_all_gather(graph); });
  register_pass("remove_dead_getitems", [](const Graph& graph) { return remove_dead_getitems(graph); });
  register_pass("remove_unsharded_param_inputs",
                [](const Graph& graph) { return remove_unsharded_param_inputs(graph); });
  register_pass("enforce_fsdp_order", [](const Graph& graph) { return enforce_fsdp_order(graph); });
  return true;
}();

}  // namespace
}  // namespace hocket
