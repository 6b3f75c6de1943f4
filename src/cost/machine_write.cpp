#include "cost/quantity.h"
#include "cost/table_json.h"
#include "hocket/cost/machine.h"
#include "hocket/ir/file.h"
#include "hocket/ir/json.h"

namespace hocket {

namespace {

std::string json_text(std::string_view text) {
  std::string json;
  append_json_string(json, text);
  return json;
}

std::string levels_json(const Machine& machine) {
  std::vector<std::string> lines;
  for (const TopologyLevel& level : machine.levels) {
    const std::string ranks = level.ranks == 0 ? "" : fmt::format("\"ranks\": {}, ", level.ranks);
    lines.push_back(fmt::format("    {{\"name\": {}, {}\"latency\": \"{}\", \"bandwidth\": \"{}\"}}",
                                json_text(level.name), ranks, print_time(level.latency),
                                print_quantity(Quantity::bandwidth, level.bandwidth)));
  }
  return fmt::format("  \"levels\": [\n{}\n  ]", fmt::join(lines, ",\n"));
}

std::string thresholds_json(const Machine& machine) {
  const auto size = [](Bytes bytes) { return print_quantity(Quantity::size, static_cast<double>(bytes.count)); };
  std::vector<std::string> lines;
  for (const AlgorithmThreshold& row : machine.thresholds) {
    lines.push_back(fmt::format("    {{\"kind\": \"{}\", \"ranks\": {}, \"one_shot\": \"{}\", \"two_shot\": \"{}\"}}",
                                name_of(row.kind), row.ranks, size(row.one_shot), size(row.two_shot)));
  }
  return fmt::format("  \"thresholds\": [\n{}\n  ]", fmt::join(lines, ",\n"));
}

std::string table_json(const CollectiveTable& table) {
  std::vector<std::string> rows;
  for (const auto& [key, times] : table.rows()) {
    rows.push_back(fmt::format("      \"{}/{}\": [{}]", name_of(key.first), key.second, fmt::join(times, ", ")));
  }
  return fmt::format(
      "  \"collectives\": {{\n    \"unit\": \"ns\",\n    \"size\": \"{}\",\n    \"sizes\": [{}],\n"
      "    \"times\": {{\n{}\n    }}\n  }}",
      size_meaning, fmt::join(table.sizes(), ", "), fmt::join(rows, ",\n"));
}

}  // namespace

std::string write_machine_json(const Machine& machine) {
  std::vector<std::string> flops;
  for (const auto& [dtype, rate] : machine.flops) {
    flops.push_back(fmt::format("\"{}\": \"{}\"", short_name(dtype), print_quantity(Quantity::throughput, rate)));
  }
  std::vector<std::string> members = {fmt::format("  \"name\": {}", json_text(machine.name))};
  if (!machine.description.empty())
    members.push_back(fmt::format("  \"description\": {}", json_text(machine.description)));
  members.push_back(fmt::format("  \"flops\": {{{}}}", fmt::join(flops, ", ")));
  members.push_back(
      fmt::format("  \"memory_bandwidth\": \"{}\"", print_quantity(Quantity::bandwidth, machine.memory_bandwidth)));
  members.push_back(fmt::format("  \"launch_overhead\": \"{}\"", print_time(machine.launch_overhead)));
  members.push_back(fmt::format("  \"ranks_per_host\": {}", machine.ranks_per_host));
  members.push_back(levels_json(machine));
  if (!machine.thresholds.empty()) members.push_back(thresholds_json(machine));
  if (machine.collectives) members.push_back(table_json(*machine.collectives));
  return fmt::format("{{\n{}\n}}\n", fmt::join(members, ",\n"));
}

Status write_machine(const Machine& machine, const std::string& path) {
  HOCKET_CHECK(check(machine));
  return write_bytes(path, write_machine_json(machine));
}

}  // namespace hocket
