#include "cost/quantity.h"

#include <array>
#include <charconv>
#include <cmath>
#include <span>

namespace hocket {

namespace {

struct Unit {
  std::string_view name;
  double factor;  // of the base unit
};

// From the smallest to the largest. Units that can be read only come last: print_quantity() does not look at them.
struct Units {
  std::span<const Unit> printed;
  std::span<const Unit> also_read;
  std::string_view example;
  double largest;  // what is beyond it was meant otherwise
};

constexpr std::array time_units = {Unit{"ps", 1}, Unit{"ns", 1e3}, Unit{"us", 1e6}, Unit{"ms", 1e9}, Unit{"s", 1e12}};
constexpr std::array more_time_units = {Unit{"µs", 1e6}};
constexpr std::array bandwidth_units = {Unit{"B/s", 1}, Unit{"kB/s", 1e3}, Unit{"MB/s", 1e6}, Unit{"GB/s", 1e9},
                                        Unit{"TB/s", 1e12}};
constexpr std::array more_bandwidth_units = {Unit{"Mbit/s", 1e6 / 8}, Unit{"Gbit/s", 1e9 / 8}};
constexpr std::array throughput_units = {Unit{"FLOP/s", 1}, Unit{"MFLOP/s", 1e6}, Unit{"GFLOP/s", 1e9},
                                         Unit{"TFLOP/s", 1e12}, Unit{"PFLOP/s", 1e15}};
constexpr std::array size_units = {Unit{"B", 1}, Unit{"KiB", 1024}, Unit{"MiB", 1024.0 * 1024},
                                   Unit{"GiB", 1024.0 * 1024 * 1024}};
constexpr std::array more_size_units = {Unit{"kB", 1e3}, Unit{"MB", 1e6}, Unit{"GB", 1e9}};

constexpr double longest_time = longest_ms * 1e9;       // up to here a double holds every picosecond
constexpr double largest_rate = 1e24;                   // far beyond any machine
constexpr double largest_size = 1024.0 * (1ULL << 40);  // a PiB: exact in a double

const Units& units_of(Quantity quantity) {
  static constexpr Units time{time_units, more_time_units, "a time such as \"1.5 us\"", longest_time};
  static constexpr Units bandwidth{bandwidth_units, more_bandwidth_units, "a bandwidth such as \"50 GB/s\"",
                                   largest_rate};
  static constexpr Units throughput{throughput_units, {}, "a throughput such as \"989.5 TFLOP/s\"", largest_rate};
  static constexpr Units size{size_units, more_size_units, "a size such as \"256 KiB\"", largest_size};
  switch (quantity) {
    case Quantity::time: return time;
    case Quantity::bandwidth: return bandwidth;
    case Quantity::throughput: return throughput;
    case Quantity::size: return size;
  }
  return time;
}

const Unit* find(std::span<const Unit> units, std::string_view name) {
  for (const Unit& unit : units) {
    if (unit.name == name) return &unit;
  }
  return nullptr;
}

std::string names_of(const Units& units) {
  std::string names;
  for (const auto list : {units.printed, units.also_read}) {
    for (const Unit& unit : list) names += fmt::format("{}{}", names.empty() ? "" : ", ", unit.name);
  }
  return names;
}

// Times and sizes are whole numbers of their base unit.
double in_base_unit(Quantity quantity, double number, const Unit& unit) {
  const double amount = number * unit.factor;
  return quantity == Quantity::time || quantity == Quantity::size ? std::round(amount) : amount;
}

}  // namespace

Result<double> parse_quantity(Quantity quantity, std::string_view text) {
  const Units& units = units_of(quantity);
  double number = 0;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (problem != std::errc() || !std::isfinite(number))
    return fail(ErrorKind::input, "got \"{}\", expected {}", text, units.example);
  std::string_view name = text.substr(static_cast<std::size_t>(end - text.data()));
  if (name.starts_with(' ')) name.remove_prefix(1);
  const Unit* unit = find(units.printed, name);
  if (unit == nullptr) unit = find(units.also_read, name);
  if (unit == nullptr)
    return fail(ErrorKind::input, "got \"{}\", expected {}; units: {}", text, units.example, names_of(units));
  const double amount = in_base_unit(quantity, number, *unit);
  if (std::signbit(number) || amount > units.largest)
    return fail(ErrorKind::input, "got \"{}\", expected 0 to {}", text, print_quantity(quantity, units.largest));
  return amount;
}

std::string print_quantity(Quantity quantity, double amount) {
  const auto units = units_of(quantity).printed;
  for (auto unit = units.rbegin(); unit != units.rend(); ++unit) {
    const double number = amount / unit->factor;
    if (number >= 1 && in_base_unit(quantity, number, *unit) == amount) return fmt::format("{} {}", number, unit->name);
  }
  return fmt::format("{} {}", amount, units.front().name);
}

std::string_view example_of(Quantity quantity) { return units_of(quantity).example; }

Result<Nanoseconds> parse_time(std::string_view text) {
  HOCKET_TRY(const double picoseconds, parse_quantity(Quantity::time, text));
  return Nanoseconds::from_picoseconds(static_cast<std::int64_t>(picoseconds));
}

std::string print_time(Nanoseconds time) {
  return print_quantity(Quantity::time, static_cast<double>(time.picoseconds));
}

}  // namespace hocket
