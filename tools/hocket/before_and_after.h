// The table that a compilation ends with.
#pragma once

#include <string>

#include "hocket/compile/compile.h"

namespace hocket::tool {

// Collectives, step time, exposed communication and peak memory, before -> after, with the change in percent.
std::string before_and_after(const Measures& before, const Measures& after);

}  // namespace hocket::tool
