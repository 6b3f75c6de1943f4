#include "comm/cores.h"

#include <sched.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <map>
#include <utility>

namespace hocket {

namespace {

// The number in a file of /sys, or -1.
int number_in(const std::string& path) {
  int number = -1;
  std::ifstream(path) >> number;
  return number;
}

}  // namespace

Result<std::vector<std::vector<int>>> usable_cores() {
  constexpr std::size_t most_processors = 8192;
  cpu_set_t* set = CPU_ALLOC(most_processors);
  const std::size_t size = CPU_ALLOC_SIZE(most_processors);
  if (sched_getaffinity(0, size, set) != 0) {
    const int reason = errno;
    CPU_FREE(set);
    return fail(ErrorKind::system, "can't find out which processors may be used: {}", std::strerror(reason));
  }
  std::vector<std::vector<int>> cores;
  std::map<std::pair<int, int>, std::size_t> places;  // of (package, core) in `cores`
  for (int processor = 0; processor < static_cast<int>(most_processors); ++processor) {
    if (!CPU_ISSET_S(static_cast<std::size_t>(processor), size, set)) continue;
    const std::string topology = fmt::format("/sys/devices/system/cpu/cpu{}/topology/", processor);
    const std::pair<int, int> key{number_in(topology + "physical_package_id"), number_in(topology + "core_id")};
    const bool is_known = key.second >= 0;  // in some containers it is not
    const auto place = is_known ? places.try_emplace(key, cores.size()).first->second : cores.size();
    if (place == cores.size()) cores.emplace_back();
    cores[place].push_back(processor);
  }
  CPU_FREE(set);
  return cores;
}

}  // namespace hocket
