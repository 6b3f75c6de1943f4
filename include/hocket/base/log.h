// Logging through spdlog, to stderr, at the level of HOCKET_LOG. Logging computes nothing: a message has no effect.
#pragma once

#include <spdlog/spdlog.h>

namespace hocket {

// hocket's own logger; a user may replace its sinks.
spdlog::logger& log();

}  // namespace hocket
