// Which thresholds the ranks of hocket go by: those of `hocket calibrate`, as a user would have them, or the defaults.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "contestants_folder.h"
#include "hocket/base/error.h"
#include "setting.h"

namespace hocket::comm_bench {

// Processes that are started while one of these lives have them. Both say in words which they are.
class Thresholds {
 public:
  // Measures them for as many ranks as the settings have, unless `hocket calibrate` has done so on this machine. Before there are
  // other threads.
  Result<std::string> provide(const std::vector<Setting>& settings, bool quick);
  Result<std::string> use_defaults();

 private:
  Result<std::string> make_folder();
  std::optional<ContestantsFolder> folder_;  // absent: the user's own
};

}  // namespace hocket::comm_bench
