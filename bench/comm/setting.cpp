#include "setting.h"

#include <sched.h>

#include <algorithm>

namespace hocket::comm_bench {

namespace {

Status check_cores(const Setting& setting) {
  const int needed = setting.affinity == "each" ? setting.ranks : 2;
  const int there = cores_allowed();
  if (there >= needed) return {};
  return fail(ErrorKind::usage, "the setting {} with {} ranks needs {} cores, and this process may use {}",
              setting.name, setting.ranks, needed, there);
}

}  // namespace

int cores_allowed() {
  cpu_set_t allowed;
  CPU_ZERO(&allowed);
  return sched_getaffinity(0, sizeof allowed, &allowed) == 0 ? CPU_COUNT(&allowed) : 1;
}

const std::vector<Setting>& all_settings() {
  static const std::vector<Setting> settings = {
      {"pinned", "one core for each rank", 2, "each"},
      {"unpinned", "cores as the kernel likes", 2, "any"},
      {"crowded", "two cores for all ranks", 4, "two"},
  };
  return settings;
}

Result<std::vector<Setting>> choose_settings(const std::vector<std::string>& names, std::int32_t ranks) {
  std::vector<Setting> chosen;
  for (const std::string& name : names) {
    const auto& all = all_settings();
    const auto found = std::find_if(all.begin(), all.end(), [&](const Setting& one) { return one.name == name; });
    if (found == all.end())
      return fail(ErrorKind::usage, "unknown setting \"{}\", expected pinned, unpinned or crowded", name);
    chosen.push_back(*found);
    if (ranks > 0) chosen.back().ranks = ranks;
    HOCKET_CHECK(check_cores(chosen.back()));
  }
  return chosen;
}

}  // namespace hocket::comm_bench
