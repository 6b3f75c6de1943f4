#include "before_and_after.h"

#include <fmt/format.h>

namespace hocket::tool {

namespace {

std::string row(std::string_view what, const std::string& was, const std::string& is, const std::string& change = {}) {
  const std::string text = fmt::format("  {:<22} {:>12} -> {:>12}", what, was, is);
  return change.empty() ? text + "\n" : text + fmt::format("  {:>9}\n", change);
}

std::string percent(double after, double before) {
  return before > 0 ? fmt::format("{:+.1f} %", (after / before - 1) * 100) : std::string("–");
}

}  // namespace

std::string before_and_after(const Measures& before, const Measures& after) {
  return row("collectives", fmt::format("{}", before.collectives), fmt::format("{}", after.collectives)) +
         row("step time", to_string(before.step_time), to_string(after.step_time),
             percent(after.step_time.ms(), before.step_time.ms())) +
         row("exposed communication", to_string(before.exposed), to_string(after.exposed),
             percent(after.exposed.ms(), before.exposed.ms())) +
         row("peak memory", to_string(before.peak), to_string(after.peak),
             percent(static_cast<double>(after.peak.count), static_cast<double>(before.peak.count)));
}

}  // namespace hocket::tool
