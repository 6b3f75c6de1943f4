// How many ranks there are and which cores they may use.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "hocket/base/error.h"

namespace hocket::comm_bench {

struct Setting {
  std::string name;
  std::string title;
  std::int32_t ranks = 2;
  std::string affinity;  // as bind_to_cores() has it
};

// "pinned", "unpinned", "crowded".
const std::vector<Setting>& all_settings();

// Those with these names; `ranks`, if not 0, is the number of ranks instead of the setting's own. An error where there are not
// enough cores.
Result<std::vector<Setting>> choose_settings(const std::vector<std::string>& names, std::int32_t ranks);

// That this process may use.
int cores_allowed();

}  // namespace hocket::comm_bench
