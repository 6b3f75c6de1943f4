#include "hocket/base/units.h"

#include <fmt/format.h>

#include <array>
#include <cmath>

namespace hocket {

namespace {

std::int64_t rounded(double value) {
  constexpr auto limit = static_cast<double>(std::numeric_limits<std::int64_t>::max());
  if (!(value > -limit)) return std::numeric_limits<std::int64_t>::min();  // also for NaN
  if (value >= limit) return std::numeric_limits<std::int64_t>::max();
  return std::llround(value);
}

}  // namespace

Nanoseconds Nanoseconds::from_ns(double ns) { return from_picoseconds(rounded(ns * 1e3)); }
Nanoseconds Nanoseconds::from_ms(double ms) { return from_picoseconds(rounded(ms * 1e9)); }
Nanoseconds Nanoseconds::from_seconds(double seconds) { return from_picoseconds(rounded(seconds * 1e12)); }

std::string to_string(Bytes bytes) {
  static constexpr std::array units = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  double amount = static_cast<double>(bytes.count);
  std::size_t unit = 0;
  while (std::abs(amount) >= 1024 && unit + 1 < units.size()) {
    amount /= 1024;
    ++unit;
  }
  return unit == 0 ? fmt::format("{} B", bytes.count) : fmt::format("{:.2f} {}", amount, units[unit]);
}

std::string to_string(Nanoseconds time) {
  const double ns = time.ns();
  const double size = std::abs(ns);
  if (size >= 1e9) return fmt::format("{:.3f} s", ns / 1e9);
  if (size >= 1e6) return fmt::format("{:.3f} ms", ns / 1e6);
  if (size >= 1e3) return fmt::format("{:.2f} µs", ns / 1e3);
  return fmt::format("{:.4g} ns", ns);
}

std::string exact_ms(Nanoseconds time) {
  constexpr std::uint64_t picoseconds_per_ms = 1'000'000'000;
  const bool negative = time.picoseconds < 0;
  const auto bits = static_cast<std::uint64_t>(time.picoseconds);
  const std::uint64_t size = negative ? 0 - bits : bits;
  std::string text =
      fmt::format("{}{}.{:09}", negative ? "-" : "", size / picoseconds_per_ms, size % picoseconds_per_ms);
  text.erase(text.find_last_not_of('0') + 1);
  if (text.back() == '.') text += '0';
  return text;
}

}  // namespace hocket
