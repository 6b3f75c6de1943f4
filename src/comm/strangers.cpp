#include "comm/strangers.h"

#include <charconv>
#include <limits>

#include "comm/proc_file.h"

namespace hocket {

std::int64_t threads_to_run() { return threads_to_run(proc_file("loadavg")); }

// "0.52 0.41 0.38 3/412 29711": the number before the slash.
std::int64_t threads_to_run(std::string_view loadavg) {
  constexpr std::int64_t unknown = std::numeric_limits<std::int64_t>::max();
  const std::size_t slash = loadavg.find('/');
  if (slash == std::string_view::npos) return unknown;
  const std::size_t first = loadavg.rfind(' ', slash) + 1;  // 0 if there is none
  std::int64_t threads = 0;
  const auto [end, error] = std::from_chars(loadavg.data() + first, loadavg.data() + slash, threads);
  return error == std::errc() && end == loadavg.data() + slash ? threads : unknown;
}

}  // namespace hocket
