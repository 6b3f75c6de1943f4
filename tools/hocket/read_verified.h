// A graph or program that a command is given.
#pragma once

#include <string>

#include "hocket/compile/pass.h"

namespace hocket::tool {

// Read and verified; an error names the file.
Result<Subject> read_verified(const std::string& file);

}  // namespace hocket::tool
