#include "pareto.h"

#include <fmt/format.h>

#include <array>
#include <nlohmann/json.hpp>

#include "command.h"
#include "hocket/base/progress.h"

namespace hocket::tool {

namespace {

// Multiples of the original peak. The first steps are small: that is where memory buys the most.
constexpr std::array<double, 9> limits = {0.90, 0.95, 1.00, 1.02, 1.05, 1.10, 1.20, 1.50, 2.00};

struct Point {
  double limit;
  Measures after;
};

// Points in the order of their limits. What fits into less memory fits into more: no point is slower than one before it.
Result<std::vector<Point>> points_of(const Subject& subject, CompileOptions how, Measures& before) {
  std::vector<Point> points;
  Progress progress("pareto", limits.size());
  for (const double limit : limits) {
    how.memory_limit = {};
    how.memory_limit.relative = limit;
    Result<Compiled> compiled = compile(subject, how);
    progress.advance();
    if (!compiled && compiled.error().kind == ErrorKind::input && limit < 1) continue;  // out of reach
    if (!compiled) return fail(std::move(compiled).error());
    before = compiled->before;
    Measures after = compiled->after;
    if (!points.empty() && points.back().after.step_time < after.step_time) after = points.back().after;
    points.push_back({limit, after});
  }
  return points;
}

}  // namespace

Status show_pareto(const Subject& subject, const CompileOptions& how, bool json) {
  Measures before;
  HOCKET_TRY(const std::vector<Point> points, points_of(subject, how, before));
  nlohmann::ordered_json rows = nlohmann::ordered_json::array();
  std::string table = fmt::format("original: step {}, peak {}\n\n{:>7} {:>12} {:>12} {:>8}\n",
                                  to_string(before.step_time), to_string(before.peak), "limit", "peak", "step", "");
  for (const Point& point : points) {
    const double change = before.step_time.ms() > 0 ? point.after.step_time.ms() / before.step_time.ms() - 1 : 0;
    table += fmt::format("{:>6.2f}x {:>12} {:>12} {:>+6.1f} %\n", point.limit, to_string(point.after.peak),
                         to_string(point.after.step_time), change * 100);
    rows.push_back({{"memory_limit", point.limit},
                    {"peak_bytes", point.after.peak.count},
                    {"step_ms", point.after.step_time.ms()},
                    {"collectives", point.after.collectives}});
  }
  say(json ? nlohmann::ordered_json{{"original_step_ms", before.step_time.ms()},
                                    {"original_peak_bytes", before.peak.count},
                                    {"points", rows}}
                     .dump() +
                 "\n"
           : table);
  return {};
}

}  // namespace hocket::tool
