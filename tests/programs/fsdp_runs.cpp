// The passes of room fsdp for tests in program text: `--- run NAME`. What a pass says stands behind the program.
#include "hocket/fsdp/enforce_fsdp_order.h"
#include "hocket/fsdp/reinplace_all_gather.h"
#include "hocket/fsdp/remove_dead_getitems.h"
#include "hocket/fsdp/remove_unsharded_param_inputs.h"
#include "support/program_test.h"

namespace hocket {
namespace {

template <class Pass>
void register_pass(const std::string& name, Pass pass) {
  register_run(name, [pass](const GraphOrProgram& input, std::string_view) {
    return outcome_of(std::get<Graph>(input), pass(std::get<Graph>(input)));
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
