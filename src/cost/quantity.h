// Amounts as machine and profile files write them: a number and its unit, "3350 GB/s", "1.5 us", "256 KiB".
// The unit is never left out, so that nobody takes Gbit for GB or µs for ns.
#pragma once

#include <string>
#include <string_view>

#include "hocket/base/error.h"
#include "hocket/base/units.h"

namespace hocket {

// What an amount measures; its base unit is what the number is in after reading.
enum class Quantity : std::uint8_t {
  time,        // picoseconds
  bandwidth,   // bytes per second
  throughput,  // FLOP per second
  size,        // bytes
};

// An amount in its base unit: finite and not negative. The error says what was got and what was expected.
Result<double> parse_quantity(Quantity quantity, std::string_view text);
// In the largest unit that gives the very same amount back.
std::string print_quantity(Quantity quantity, double amount);

// "a bandwidth such as "50 GB/s"", for messages.
std::string_view example_of(Quantity quantity);

Result<Nanoseconds> parse_time(std::string_view text);
std::string print_time(Nanoseconds time);

}  // namespace hocket
