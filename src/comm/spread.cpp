#include "comm/spread.h"

#include <sched.h>

#include <algorithm>

namespace hocket {

std::optional<int> better_core(std::span<const int> cores, std::size_t self, std::span<const int> allowed) {
  if (std::ranges::any_of(cores, [](int core) { return core < 0; })) return std::nullopt;
  const auto others_behind = cores.subspan(self + 1);
  if (std::ranges::find(others_behind, cores[self]) != others_behind.end()) return std::nullopt;
  const auto ranks_on = [&](int core) { return std::ranges::count(cores, core); };
  const auto emptiest = std::ranges::min_element(allowed, {}, ranks_on);
  if (emptiest == allowed.end() || ranks_on(cores[self]) - ranks_on(*emptiest) < 2) return std::nullopt;
  return *emptiest;
}

std::vector<int> allowed_cores() {
  cpu_set_t set;
  std::vector<int> cores;
  if (sched_getaffinity(0, sizeof set, &set) != 0) return cores;
  for (int core = 0; core < CPU_SETSIZE; ++core) {
    if (CPU_ISSET(core, &set)) cores.push_back(core);
  }
  return cores;
}

void go_to_core(int core) {
  cpu_set_t before, there;
  CPU_ZERO(&there);
  CPU_SET(core, &there);
  if (sched_getaffinity(0, sizeof before, &before) != 0 || !CPU_ISSET(core, &before)) return;
  if (sched_setaffinity(0, sizeof there, &there) == 0) sched_setaffinity(0, sizeof before, &before);
}

}  // namespace hocket
