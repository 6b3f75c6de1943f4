#include "hocket/compile/pass.h"

#include <algorithm>

#include "hocket/ir/verify.h"

namespace hocket {

namespace {

Result<PassResult> run_verify(const Graph& graph) {
  const auto problems = verify(graph);
  if (!problems.empty()) return fail(to_error(problems, graph.name()));
  return PassResult{std::nullopt, "no problems"};
}

}  // namespace

PassRegistry PassRegistry::builtin() {
  PassRegistry registry;
  registry.passes_.push_back({"verify", "fail with everything that is wrong with the program", run_verify});
  return registry;
}

Status PassRegistry::add(Pass pass) {
  const auto same_name = [&](const Pass& other) { return other.name == pass.name; };
  if (std::any_of(passes_.begin(), passes_.end(), same_name))
    return fail(ErrorKind::usage, "there is a pass called {} already", pass.name);
  passes_.push_back(std::move(pass));
  return {};
}

Result<const Pass*> PassRegistry::find(std::string_view name) const {
  const auto found = std::find_if(passes_.begin(), passes_.end(), [&](const Pass& pass) { return pass.name == name; });
  if (found != passes_.end()) return &*found;
  std::string known;
  for (const Pass& pass : passes_) known += (known.empty() ? "" : ", ") + pass.name;
  return fail(ErrorKind::usage, "there is no pass called {}; known: {}", name, known);
}

}  // namespace hocket
