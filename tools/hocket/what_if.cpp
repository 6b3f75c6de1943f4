#include "what_if.h"

#include <charconv>
#include <cmath>
#include <vector>

namespace hocket::tool {

namespace {

tl::unexpected<Error> unknown(std::string_view text) {
  return fail(
      ErrorKind::usage,
      "'{}' is no what-if; expected bandwidth*2, bandwidth.LEVEL*2, latency/2, compute*1.5 or memory-limit=1.1x", text);
}

std::optional<double> number(std::string_view text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || !std::isfinite(value) || value <= 0)
    return std::nullopt;
  return value;
}

std::optional<WhatIf::What> what_of(std::string_view name) {
  if (name == "bandwidth") return WhatIf::What::bandwidth;
  if (name == "latency") return WhatIf::What::latency;
  if (name == "compute") return WhatIf::What::compute;
  return std::nullopt;
}

}  // namespace

Result<WhatIf> parse_what_if(std::string_view text) {
  WhatIf result;
  result.text = text;
  constexpr std::string_view limit = "memory-limit=";
  if (text.starts_with(limit)) {
    result.what = WhatIf::What::memory_limit;
    HOCKET_TRY(result.limit, parse_memory_limit(text.substr(limit.size())));
    return result;
  }
  const std::size_t sign = text.find_first_of("*/");
  if (sign == std::string_view::npos) return unknown(text);
  const std::string_view name = text.substr(0, sign);
  const std::size_t dot = name.find('.');
  const auto what = what_of(name.substr(0, dot));
  const auto factor = number(text.substr(sign + 1));
  if (!what || !factor) return unknown(text);
  if (dot != std::string_view::npos) result.level = name.substr(dot + 1);
  if (*what == WhatIf::What::compute && !result.level.empty()) return unknown(text);
  result.what = *what;
  result.factor = text[sign] == '*' ? *factor : 1 / *factor;
  return result;
}

Status WhatIf::apply(CostOptions& cost) const {
  if (what == What::compute) cost.compute_multiplier /= factor;
  if (!changes_links()) return {};
  bool found = false;
  std::vector<std::string> known;
  for (TopologyLevel& link : cost.machine.levels) {
    known.push_back(link.name);
    if (!level.empty() && link.name != level) continue;
    found = true;
    if (what == What::bandwidth) link.bandwidth *= factor;
    else link.latency = Nanoseconds::from_ns(link.latency.ns() * factor);
  }
  if (!found)
    return fail(ErrorKind::usage, "{} has no level {}; it has {}", cost.machine.name, level, fmt::join(known, ", "));
  return {};
}

}  // namespace hocket::tool
