#include "hocket/base/log.h"

#include <spdlog/sinks/stdout_color_sinks.h>

#include <memory>

#include "hocket/base/env.h"

namespace hocket {

spdlog::logger& log() {
  static const std::shared_ptr<spdlog::logger> logger = [] {
    auto made = std::make_shared<spdlog::logger>("hocket", std::make_shared<spdlog::sinks::stderr_color_sink_mt>());
    const auto level = spdlog::level::from_str(Env::get().log);
    made->set_pattern("hocket %^%l%$: %v");
    made->set_level(level);
    if (level == spdlog::level::off && Env::get().log != "off") {
      made->set_level(spdlog::level::warn);
      made->warn("HOCKET_LOG={} is no level; expected trace, debug, info, warning, error or off; using warning",
                 Env::get().log);
    }
    return made;
  }();
  return *logger;
}

}  // namespace hocket
