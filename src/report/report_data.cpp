#include "hocket/report/report_data.h"

#include <fmt/format.h>

#include <algorithm>

namespace hocket {

double ShownTimeline::hidden_share() const {
  if (communication <= Nanoseconds()) return 1;
  return std::clamp(1 - exposed.ms() / communication.ms(), 0.0, 1.0);
}

namespace {

std::string faster(const ShownTimeline& before, const ShownTimeline& after) {
  const double ratio = after.step_time.ms() > 0 ? before.step_time.ms() / after.step_time.ms() : 1;
  return ratio >= 1 ? fmt::format("step {:.2f} times faster", ratio)
                    : fmt::format("step {:.2f} times slower", 1 / std::max(ratio, 1e-9));
}

std::string memory_change(const ShownTimeline& before, const ShownTimeline& after) {
  if (before.peak <= Bytes()) return fmt::format("memory {}", to_string(after.peak));
  const double percent = (static_cast<double>(after.peak.count) / static_cast<double>(before.peak.count) - 1) * 100;
  return fmt::format("memory {:+.1f} %", percent);
}

}  // namespace

std::string headline_of(const ReportData& report) {
  if (report.timelines.empty()) return "nothing to show";
  const ShownTimeline& before = report.timelines.front();
  const ShownTimeline& after = report.timelines.back();
  std::string text = fmt::format("communication hidden: {:.0f} %", after.hidden_share() * 100);
  if (report.timelines.size() == 1)
    return text + fmt::format(", step {}, memory {}", to_string(after.step_time), to_string(after.peak));
  // An estimate and a measurement differ for other reasons than what the compiler did.
  const std::string step = before.source == after.source
                               ? faster(before, after)
                               : fmt::format("step {}, estimated {}", to_string(after.step_time),
                                             to_string(report.timelines[report.timelines.size() - 2].step_time));
  return text + fmt::format(", {}, {}", step, memory_change(before, after));
}

}  // namespace hocket
