#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>

#include "hocket/compile/pass.h"

namespace hocket {

namespace {

struct Unit {
  std::string_view name;
  double bytes;
};
constexpr Unit units[] = {{"", 1},      {"B", 1},        {"KB", 1e3},     {"MB", 1e6},     {"GB", 1e9},
                          {"TB", 1e12}, {"KiB", 0x1p10}, {"MiB", 0x1p20}, {"GiB", 0x1p30}, {"TiB", 0x1p40}};

// A number that is not negative, and what stands behind it.
std::optional<std::pair<double, std::string_view>> number_and_rest(std::string_view text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || !std::isfinite(value) || value < 0) return std::nullopt;
  std::string_view rest = text.substr(static_cast<std::size_t>(end - text.data()));
  while (!rest.empty() && rest.front() == ' ') rest.remove_prefix(1);
  return std::pair(value, rest);
}

std::optional<Bytes> parse_bytes(std::string_view text) {
  const auto number = number_and_rest(text);
  if (!number) return std::nullopt;
  for (const Unit& unit : units) {
    if (unit.name != number->second) continue;
    const double bytes = number->first * unit.bytes;
    return bytes < 0x1p62 ? std::optional(Bytes(static_cast<std::int64_t>(bytes))) : std::nullopt;
  }
  return std::nullopt;
}

}  // namespace

Bytes MemoryLimit::of(Bytes original_peak) const {
  if (absolute) return *absolute;
  // Whole thousandths keep products exact on every machine.
  const auto thousandths = static_cast<std::int64_t>(std::llround(std::min(relative, 1e6) * 1000));
  const std::int64_t whole = original_peak.count / 1000, rest = original_peak.count % 1000;
  return Bytes(whole * thousandths + rest * thousandths / 1000);
}

std::string MemoryLimit::to_string() const {
  return absolute ? hocket::to_string(*absolute) : fmt::format("{:.3g}x", relative);
}

Result<MemoryLimit> parse_memory_limit(std::string_view text) {
  MemoryLimit limit;
  const auto number = number_and_rest(text);
  if (number && number->second == "x" && number->first <= 1e6) {
    limit.relative = number->first;
    return limit;
  }
  limit.absolute = parse_bytes(text);
  if (limit.absolute) return limit;
  return fail(ErrorKind::usage, "memory limit {}: expected a multiple of the original peak (1.05x) or a size (12GiB)",
              text);
}

const std::string* PassArguments::find(std::string_view key) {
  known_.emplace_back(key);
  const auto found =
      std::find_if(values_.begin(), values_.end(), [&](const auto& value) { return value.first == key; });
  return found == values_.end() ? nullptr : &found->second;
}

void PassArguments::complain(std::string_view key, std::string_view value, std::string_view expected) {
  if (!error_)
    error_ = Error{ErrorKind::usage, fmt::format("{} is {}, expected {}", key, value, expected), "pass " + pass_};
}

double PassArguments::real(std::string_view key, double fallback) {
  const std::string* text = find(key);
  if (text == nullptr) return fallback;
  const auto number = number_and_rest(*text);
  if (number && number->second.empty()) return number->first;
  complain(key, *text, "a number that is not negative");
  return fallback;
}

std::int64_t PassArguments::integer(std::string_view key, std::int64_t fallback) {
  const std::string* text = find(key);
  if (text == nullptr) return fallback;
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text->data(), text->data() + text->size(), value);
  if (error == std::errc() && end == text->data() + text->size() && value >= 0) return value;
  complain(key, *text, "a whole number that is not negative");
  return fallback;
}

bool PassArguments::flag(std::string_view key, bool fallback) {
  return choice(key, fallback ? "on" : "off", {"on", "off"}) == "on";
}

std::string PassArguments::choice(std::string_view key, std::string_view fallback,
                                  std::initializer_list<std::string_view> choices) {
  const std::string* text = find(key);
  if (text == nullptr) return std::string(fallback);
  if (std::find(choices.begin(), choices.end(), *text) != choices.end()) return *text;
  std::string expected;
  for (const std::string_view option : choices) expected += (expected.empty() ? "" : " or ") + std::string(option);
  complain(key, *text, expected);
  return std::string(fallback);
}

std::optional<Bytes> PassArguments::bytes(std::string_view key) {
  const std::string* text = find(key);
  if (text == nullptr) return std::nullopt;
  const auto value = parse_bytes(*text);
  if (!value) complain(key, *text, "a size, such as 25MiB");
  return value;
}

Status PassArguments::finish() const {
  if (error_) return fail(*error_);
  for (std::size_t i = 0; i < values_.size(); ++i) {
    const std::string& key = values_[i].first;
    if (std::find(known_.begin(), known_.end(), key) == known_.end()) {
      std::string known;
      for (const std::string& option : known_) known += (known.empty() ? "" : ", ") + option;
      return fail(Error{ErrorKind::usage,
                        known.empty() ? fmt::format("has no options, got {}", key)
                                      : fmt::format("has no option {}; known: {}", key, known),
                        "pass " + pass_});
    }
    for (std::size_t j = 0; j < i; ++j) {
      if (values_[j].first == key)
        return fail(Error{ErrorKind::usage, fmt::format("got {} twice", key), "pass " + pass_});
    }
  }
  return {};
}

}  // namespace hocket
