// Ways to break a valid program of steps; as graph_defects.h for graphs.
#pragma once

#include <functional>
#include <string_view>
#include <vector>

#include "hocket/ir/verify.h"
#include "support/program_draft.h"
#include "support/random.h"

namespace hocket {

struct ProgramDefect {
  std::string_view name;
  std::vector<ProblemKind> kinds;
  std::function<bool(ProgramDraft& draft, const Program& program, Random& random)> apply;
};

std::vector<ProgramDefect> program_defects();

}  // namespace hocket
