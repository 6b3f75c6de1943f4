#include <array>

#include "cost/json_value.h"
#include "cost/table_json.h"
#include "hocket/cost/machine.h"
#include "hocket/ir/file.h"

namespace hocket {

namespace {

constexpr JsonLimits machine_limits{.bytes = std::size_t{16} << 20, .depth = 8};
constexpr std::size_t most_levels = 16;
constexpr std::size_t most_thresholds = 256;
constexpr std::int64_t most_ranks = std::int64_t{1} << 31;

constexpr std::array<std::string_view, 9> machine_members = {
    "name",           "description", "flops",      "memory_bandwidth", "launch_overhead",
    "ranks_per_host", "levels",      "thresholds", "collectives"};
constexpr std::array<std::string_view, 4> level_members = {"name", "ranks", "latency", "bandwidth"};
constexpr std::array<std::string_view, 4> threshold_members = {"kind", "ranks", "one_shot", "two_shot"};

Result<std::map<Dtype, double>> read_flops(const JsonValue& value) {
  HOCKET_TRY(const auto members, value.members());
  std::map<Dtype, double> flops;
  for (const auto& [name, rate] : members) {
    const auto dtype = dtype_from_short_name(name);
    if (!dtype) return rate.refuse("no dtype is called so, expected f64, f32, f16, bf16, f8e4m3, …");
    HOCKET_TRY(flops[*dtype], rate.quantity(Quantity::throughput));
  }
  return flops;
}

Result<TopologyLevel> read_level(const JsonValue& value) {
  HOCKET_CHECK(value.has_only(level_members));
  TopologyLevel level;
  HOCKET_TRY(const JsonValue name, value.member("name"));
  HOCKET_TRY(level.name, name.text());
  if (const auto ranks = value.find("ranks")) {
    HOCKET_TRY(level.ranks, ranks->integer(2, most_ranks));
  }
  HOCKET_TRY(const JsonValue latency, value.member("latency"));
  HOCKET_TRY(level.latency, latency.time());
  HOCKET_TRY(const JsonValue bandwidth, value.member("bandwidth"));
  HOCKET_TRY(level.bandwidth, bandwidth.quantity(Quantity::bandwidth));
  return level;
}

Result<Bytes> read_size(const JsonValue& value) {
  HOCKET_TRY(const double bytes, value.quantity(Quantity::size));
  return Bytes(static_cast<std::int64_t>(bytes));
}

Result<AlgorithmThreshold> read_threshold(const JsonValue& value) {
  HOCKET_CHECK(value.has_only(threshold_members));
  AlgorithmThreshold row;
  HOCKET_TRY(const JsonValue kind_value, value.member("kind"));
  HOCKET_TRY(const std::string kind_name, kind_value.text());
  const auto kind = collective_kind_from_name(kind_name);
  if (!kind) return kind_value.wrong(kind_names());
  row.kind = *kind;
  HOCKET_TRY(const JsonValue ranks, value.member("ranks"));
  HOCKET_TRY(row.ranks, ranks.integer(2, most_ranks));
  HOCKET_TRY(const JsonValue one_shot, value.member("one_shot"));
  HOCKET_TRY(row.one_shot, read_size(one_shot));
  row.two_shot = row.one_shot;
  if (const auto two_shot = value.find("two_shot")) {
    HOCKET_TRY(row.two_shot, read_size(*two_shot));
  }
  return row;
}

Status read_speeds(const JsonValue& top, Machine& machine) {
  HOCKET_TRY(const JsonValue flops, top.member("flops"));
  HOCKET_TRY(machine.flops, read_flops(flops));
  HOCKET_TRY(const JsonValue memory, top.member("memory_bandwidth"));
  HOCKET_TRY(machine.memory_bandwidth, memory.quantity(Quantity::bandwidth));
  HOCKET_TRY(const JsonValue launch, top.member("launch_overhead"));
  HOCKET_TRY(machine.launch_overhead, launch.time());
  HOCKET_TRY(const JsonValue host, top.member("ranks_per_host"));
  HOCKET_TRY(machine.ranks_per_host, host.integer(1, most_ranks));
  return {};
}

Status read_communication(const JsonValue& top, Machine& machine) {
  HOCKET_TRY(const JsonValue levels_value, top.member("levels"));
  HOCKET_TRY(const auto levels, levels_value.elements(most_levels));
  machine.levels.clear();
  for (const JsonValue& level : levels) {
    HOCKET_TRY(machine.levels.emplace_back(), read_level(level));
  }
  if (const auto thresholds = top.find("thresholds")) {
    HOCKET_TRY(const auto rows, thresholds->elements(most_thresholds));
    for (const JsonValue& row : rows) {
      HOCKET_TRY(machine.thresholds.emplace_back(), read_threshold(row));
    }
  }
  if (const auto table = top.find("collectives")) {
    HOCKET_TRY(machine.collectives, read_table(*table));
  }
  return {};
}

}  // namespace

Result<Machine> read_machine_json(std::string_view text, const std::string& file) {
  HOCKET_TRY(const nlohmann::json document, parse_json(text, file, machine_limits));
  const JsonValue top(document, file);
  HOCKET_CHECK(top.has_only(machine_members));
  Machine machine;
  HOCKET_TRY(const JsonValue name, top.member("name"));
  HOCKET_TRY(machine.name, name.text());
  if (const auto description = top.find("description")) {
    HOCKET_TRY(machine.description, description->text());
  }
  HOCKET_CHECK(read_speeds(top, machine));
  HOCKET_CHECK(read_communication(top, machine));
  if (const Status sound = check(machine); !sound)
    return fail({sound.error().kind, sound.error().message, file + ": " + sound.error().where});
  return machine;
}

Result<Machine> read_machine(const std::string& path) {
  HOCKET_TRY(const std::string text, read_bytes(path));
  return read_machine_json(text, path);
}

}  // namespace hocket
