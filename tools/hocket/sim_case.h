// One simulation of `hocket sim`: a program, a machine, a number of ranks, and what came out.
#pragma once

#include <string>
#include <vector>

#include "hocket/report/report.h"
#include "hocket/sim/simulate.h"

namespace hocket::tool {

struct SimCase {
  std::string name;  // "as it is", "32 hosts", "bandwidth*2"
  Subject subject;
  SimProgram program;
  SimResult result;
  ShownTimeline line;
};

std::string table_of(const std::vector<SimCase>& cases);
std::string json_of(const std::vector<SimCase>& cases);

}  // namespace hocket::tool
