// Amounts with a unit. Sums saturate instead of overflowing, so hostile sizes can't wrap around.
#pragma once

#include <compare>
#include <cstdint>
#include <limits>
#include <string>

namespace hocket {

namespace units {
constexpr std::int64_t add(std::int64_t a, std::int64_t b) {
  std::int64_t sum = 0;
  if (!__builtin_add_overflow(a, b, &sum)) return sum;
  return b > 0 ? std::numeric_limits<std::int64_t>::max() : std::numeric_limits<std::int64_t>::min();
}
constexpr std::int64_t subtract(std::int64_t a, std::int64_t b) {
  std::int64_t difference = 0;
  if (!__builtin_sub_overflow(a, b, &difference)) return difference;
  return b < 0 ? std::numeric_limits<std::int64_t>::max() : std::numeric_limits<std::int64_t>::min();
}
}  // namespace units

struct Bytes {
  std::int64_t count = 0;

  constexpr Bytes() = default;
  constexpr explicit Bytes(std::int64_t bytes) : count(bytes) {}

  friend constexpr auto operator<=>(Bytes, Bytes) = default;
  friend constexpr Bytes operator+(Bytes a, Bytes b) { return Bytes(units::add(a.count, b.count)); }
  friend constexpr Bytes operator-(Bytes a, Bytes b) { return Bytes(units::subtract(a.count, b.count)); }
  constexpr Bytes& operator+=(Bytes b) { return *this = *this + b; }
  constexpr Bytes& operator-=(Bytes b) { return *this = *this - b; }
};

// A time in nanoseconds with three decimals: whole picoseconds inside.
// Integers make sums exact and independent of their order, so all ranks and all incremental updates agree to the bit;
// a picosecond is the resolution of the estimates that PyTorch captures carry.
struct Nanoseconds {
  std::int64_t picoseconds = 0;

  constexpr Nanoseconds() = default;
  static constexpr Nanoseconds from_picoseconds(std::int64_t ps) {
    Nanoseconds time;
    time.picoseconds = ps;
    return time;
  }
  static Nanoseconds from_ns(double ns);
  static Nanoseconds from_ms(double ms);
  static Nanoseconds from_seconds(double seconds);

  constexpr double ns() const { return static_cast<double>(picoseconds) / 1e3; }
  constexpr double ms() const { return static_cast<double>(picoseconds) / 1e9; }
  constexpr double seconds() const { return static_cast<double>(picoseconds) / 1e12; }

  friend constexpr auto operator<=>(Nanoseconds, Nanoseconds) = default;
  friend constexpr Nanoseconds operator+(Nanoseconds a, Nanoseconds b) {
    return from_picoseconds(units::add(a.picoseconds, b.picoseconds));
  }
  friend constexpr Nanoseconds operator-(Nanoseconds a, Nanoseconds b) {
    return from_picoseconds(units::subtract(a.picoseconds, b.picoseconds));
  }
  constexpr Nanoseconds& operator+=(Nanoseconds b) { return *this = *this + b; }
  constexpr Nanoseconds& operator-=(Nanoseconds b) { return *this = *this - b; }
};

// For people: "1.50 GiB", "12.3 µs".
std::string to_string(Bytes bytes);
std::string to_string(Nanoseconds time);

// For files: the exact decimal number of milliseconds, "0.060098713". Up to longest_ms (2.5 hours) a double holds every
// picosecond, so a time that is written and read as a double is the same.
std::string exact_ms(Nanoseconds time);
inline constexpr double longest_ms = 9e6;

}  // namespace hocket
