#include <algorithm>
#include <array>
#include <filesystem>

#include "cost/ready_made.h"
#include "hocket/base/nearest.h"
#include "hocket/cost/machine.h"

namespace hocket {

namespace {

struct ReadyMade {
  std::string_view name;
  const std::string_view& json;
};

constexpr std::array ready_made = {ReadyMade{"a100x8", a100x8_json}, ReadyMade{"cpu", cpu_json},
                                   ReadyMade{"h100x8", h100x8_json}};

bool looks_like_a_path(const std::string& name) {
  std::error_code ignored;
  return name.find('/') != std::string::npos || name.ends_with(".json") || std::filesystem::exists(name, ignored);
}

}  // namespace

std::vector<std::string_view> known_machines() {
  std::vector<std::string_view> names;
  for (const ReadyMade& machine : ready_made) names.push_back(machine.name);
  return names;
}

Result<Machine> find_machine(const std::string& name_or_path) {
  for (const ReadyMade& machine : ready_made) {
    if (machine.name == name_or_path) return read_machine_json(machine.json, name_or_path);
  }
  if (looks_like_a_path(name_or_path)) return read_machine(name_or_path);
  const std::vector<std::string_view> names = known_machines();
  std::string_view near = nearest(name_or_path, names);
  for (const std::string_view name : names) {
    if (near.empty() && !name_or_path.empty() && name.starts_with(name_or_path)) near = name;
  }
  const std::string hint = near.empty() ? "" : fmt::format(", did you mean {}?", near);
  return fail(ErrorKind::usage, "unknown machine '{}'{} known: {}; the path of a machine file in JSON works too",
              name_or_path, hint.empty() ? ";" : hint, fmt::join(names, ", "));
}

}  // namespace hocket
