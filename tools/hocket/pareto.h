// hocket opt --pareto: the step time at several memory limits.
#pragma once

#include "hocket/compile/compile.h"

namespace hocket::tool {

// Compiles the subject once for each limit and prints a table, or a JSON array.
Status show_pareto(const Subject& subject, const CompileOptions& how, bool json);

}  // namespace hocket::tool
