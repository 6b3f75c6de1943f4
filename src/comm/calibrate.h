// What `hocket calibrate` does: measures which thresholds suit this machine.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "comm/tuning.h"
#include "hocket/base/error.h"

namespace hocket {

struct CalibrateOptions {
  double seconds = 15;             // for all measurements, roughly
  std::function<void()> progress;  // called calibration_steps times
};
inline constexpr int calibration_steps = 8;  // one for each threshold

// What became of one threshold.
struct TunedChoice {
  std::string name;
  std::int64_t before = 0;
  std::int64_t after = 0;
  double ratio = 1;  // time with `after` over time with `before`, where they differ
  std::string why;
};

struct Calibration {
  std::int32_t ranks = 0;
  Tuning tuning;
  std::vector<TunedChoice> choices;  // one for each field of Tuning
};

// Measures with so many ranks on this host, as processes. Only for a process without other threads.
Result<Calibration> calibrate(std::int32_t ranks, const CalibrateOptions& options);

}  // namespace hocket
