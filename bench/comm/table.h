// The tables that people read.
#pragma once

#include <string>
#include <vector>

#include "setting.h"
#include "targets.h"

namespace hocket::comm_bench {

// What the columns and marks mean.
std::string legend(const Targets& targets);
// The points of one setting, one table for each operator, and another where the input is filled.
std::string tables(const Setting& setting, const std::vector<Point>& points, const Targets& targets);
// Everything, for programs.
std::string as_json(const std::vector<Point>& points, const std::vector<std::string>& notes,
                    const std::vector<std::string>& missed);

}  // namespace hocket::comm_bench
