// hocket's own passes, in the order in which a pipeline would use them.
#include <iterator>

#include "compile/carry_pass.h"
#include "compile/graph_passes.h"
#include "compile/lower_passes.h"
#include "compile/overlap_pass.h"
#include "compile/schedule_passes.h"
#include "hocket/compile/pass.h"
#include "hocket/ir/verify.h"

namespace hocket {

namespace {

Result<PassResult> run_verify(const Subject& subject, const PassContext&, PassArguments& arguments) {
  HOCKET_CHECK(arguments.finish());
  const auto problems = std::visit([](const auto& form) { return verify(form); }, subject);
  const std::string_view name = std::visit([](const auto& form) { return form.name(); }, subject);
  if (!problems.empty()) return fail(to_error(problems, name));
  PassResult result;
  result.report = "no problems";
  return result;
}

}  // namespace

PassRegistry PassRegistry::builtin() {
  PassRegistry registry;
  const auto add = [&](std::vector<Pass> passes) {
    registry.passes_.insert(registry.passes_.end(), std::make_move_iterator(passes.begin()),
                            std::make_move_iterator(passes.end()));
  };
  add({{"verify", "fail with everything that is wrong with the program", Form::either, "", run_verify}});
  add(fsdp_passes());
  add(fuse_passes());
  add(schedule_passes());
  add({overlap_pass()});
  add({carry_pass()});
  add(lower_passes());
  return registry;
}

}  // namespace hocket
