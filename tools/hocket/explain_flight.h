// hocket explain --flight FILE...
#pragma once

#include <string>
#include <vector>

namespace hocket::tool {

// Says what the flight reports in these files tell; the exit code.
int run_explain_flight(const std::vector<std::string>& files, bool json);

}  // namespace hocket::tool
