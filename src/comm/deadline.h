// A point in time after which nobody waits any longer.
#pragma once

#include <chrono>

namespace hocket {

using Deadline = std::chrono::steady_clock::time_point;

}  // namespace hocket
