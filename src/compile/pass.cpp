#include "hocket/compile/pass.h"

#include <algorithm>

namespace hocket {

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
