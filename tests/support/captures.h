// Captured programs that tests read.
#pragma once

#include <string>
#include <vector>

namespace hocket {

// The small ones that are shipped in tests/data.
std::vector<std::string> shipped_captures();
// All of ../shared/graphs, smallest first; empty where that folder is absent, and no_shared_captures says so.
std::vector<std::string> shared_captures();
extern const char* const no_shared_captures;

}  // namespace hocket
