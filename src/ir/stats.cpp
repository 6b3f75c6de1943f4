#include "hocket/ir/stats.h"

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>
#include <tuple>

namespace hocket {

namespace {

Bytes bytes_of(const Graph& graph, StorageId id) {
  const Dim bytes = graph.storage(id).bytes;
  return Bytes(bytes.is_static() ? bytes.value() : 0);
}

void count_nodes(const Graph& graph, GraphStats& stats) {
  for (std::size_t i = 0; i < graph.size(); ++i) {
    const NodeId id(i);
    const Node& node = graph.node(id);
    for (const Output& output : graph.outputs(id)) {
      const TypeView type = graph.type(output);
      if (!all_static(type.shape)) ++stats.symbolic;
    }
    switch (node.kind) {
      case NodeKind::input:
      case NodeKind::attribute: ++stats.inputs; continue;
      case NodeKind::output: stats.outputs += graph.args(id).size(); continue;
      case NodeKind::op: ++stats.ops; break;
    }
    const OpSpec* spec = graph.op_spec(id);
    if (spec == nullptr) {
      ++stats.opaque;
      ++stats.opaque_ops[std::string(graph.op_name(id))];
    }
    const bool waits = spec != nullptr && spec->effects.waits;
    if (waits) ++stats.waits;
    if (node.view_of.valid() && node.mutates.count == 0 && !waits) ++stats.views;
    if (node.gemm || (spec != nullptr && spec->effects.gemm)) ++stats.gemms;
    if (node.mutates.count > 0) ++stats.mutations;
    const bool takes_time = !waits && !(node.view_of.valid() && node.mutates.count == 0) && node.outputs.count > 0;
    if (takes_time && !graph.estimate(id)) ++stats.without_estimate;
  }
}

void count_communication(const Graph& graph, GraphStats& stats) {
  std::map<std::tuple<std::uint32_t, CollectiveKind>, GraphStats::Communication> by_group;
  for (std::size_t i = 0; i < graph.size(); ++i) {
    const Collective* collective = graph.collective(NodeId(i));
    if (collective == nullptr) continue;
    ++stats.collectives;
    auto& entry = by_group[{collective->group.value, collective->kind}];
    entry.kind = collective->kind;
    entry.group = graph.group(collective->group).name;
    entry.ranks = graph.group(collective->group).ranks.size();
    ++entry.count;
    entry.bytes_in += collective->bytes_in;
    entry.bytes_out += collective->bytes_out;
    entry.time += graph.estimate(NodeId(i)).value_or(Nanoseconds());
  }
  for (auto& [key, entry] : by_group) {
    stats.communicate += entry.time;
    stats.communication.push_back(std::move(entry));
  }
}

void measure_times(const Graph& graph, GraphStats& stats) {
  std::vector<Nanoseconds> finish(graph.size());
  for (std::size_t i = 0; i < graph.size(); ++i) {
    const NodeId id(i);
    const Nanoseconds time = graph.estimate(id).value_or(Nanoseconds());
    if (graph.collective(id) == nullptr) stats.compute += time;
    for (const NodeId input : graph.inputs(id)) {
      if (input.index() < i) finish[i] = std::max(finish[i], finish[input.index()]);
    }
    finish[i] += time;
    stats.critical_path = std::max(stats.critical_path, finish[i]);
  }
}

// The last position at which each storage is touched; `forever` for inputs and results.
constexpr std::size_t forever = std::numeric_limits<std::size_t>::max();

std::vector<std::size_t> last_touches(const Graph& graph, std::vector<bool>& is_input) {
  std::vector<std::size_t> last(graph.storages().size(), 0);
  const auto touch = [&](NodeId node, std::size_t when) {
    for (const Output& output : graph.outputs(node)) {
      std::size_t& entry = last[output.storage.index()];
      if (entry != forever) entry = std::max(entry, when);
    }
  };
  for (std::size_t i = 0; i < graph.size(); ++i) {
    const NodeId id(i);
    const Node& node = graph.node(id);
    if (node.kind == NodeKind::input || node.kind == NodeKind::attribute) {
      for (const Output& output : graph.outputs(id)) is_input[output.storage.index()] = true;
      touch(id, forever);
      continue;
    }
    touch(id, i);
    for (const NodeId input : graph.inputs(id)) touch(input, node.kind == NodeKind::output ? forever : i);
    if (node.wait_of.valid()) {
      for (const NodeId input : graph.inputs(node.wait_of)) touch(input, i);
    }
  }
  return last;
}

void measure_memory(const Graph& graph, GraphStats& stats) {
  std::vector<bool> is_input(graph.storages().size(), false);
  const std::vector<std::size_t> last = last_touches(graph, is_input);
  std::vector<std::vector<StorageId>> made(graph.size());
  std::vector<std::vector<StorageId>> freed(graph.size());
  for (std::size_t s = 0; s < last.size(); ++s) {
    if (is_input[s]) stats.input_bytes += bytes_of(graph, StorageId(s));
    else made[graph.storage(StorageId(s)).allocated_by.index()].push_back(StorageId(s));
    if (!is_input[s] && last[s] != forever) freed[last[s]].push_back(StorageId(s));
  }
  Bytes now = stats.input_bytes;
  stats.peak = now;
  for (std::size_t i = 0; i < graph.size(); ++i) {
    for (const StorageId storage : made[i]) now += bytes_of(graph, storage);
    if (now > stats.peak) {
      stats.peak = now;
      stats.peak_at = graph.name(NodeId(i));
    }
    for (const StorageId storage : freed[i]) now -= bytes_of(graph, storage);
  }
}

std::string counted(std::size_t count, std::string_view what) {
  return fmt::format("{} {}{}", count, what, count == 1 ? "" : "s");
}

}  // namespace

GraphStats stats_of(const Graph& graph) {
  GraphStats stats;
  stats.name = graph.name();
  stats.nodes = graph.size();
  count_nodes(graph, stats);
  count_communication(graph, stats);
  measure_times(graph, stats);
  measure_memory(graph, stats);
  return stats;
}

std::string summary(const GraphStats& stats) {
  std::string text;
  const auto line = [&](std::string_view label, std::string value) {
    text += fmt::format("  {:<16}{}\n", label, value);
  };
  text += fmt::format("{}\n", stats.name);
  line("nodes", fmt::format("{} ({}, {}, {})", stats.nodes, counted(stats.inputs, "input"),
                            counted(stats.ops, "operator"), counted(stats.outputs, "result")));
  line("operators", fmt::format("{} matmul-like, {}, {}, {}, {}", stats.gemms, counted(stats.views, "view"),
                                counted(stats.mutations, "mutation"), counted(stats.collectives, "collective"),
                                counted(stats.waits, "wait")));
  if (stats.opaque > 0) {
    std::string names;
    for (const auto& [name, count] : stats.opaque_ops)
      names += fmt::format("{}{} ×{}", names.empty() ? "" : ", ", name, count);
    line("opaque", fmt::format("{} operators that the table does not know: {}", stats.opaque, names));
  }
  if (stats.symbolic > 0)
    line("symbolic", fmt::format("{} tensors with a symbolic size, counted as 0 bytes", stats.symbolic));
  const bool timed = stats.compute.picoseconds > 0 || stats.communicate.picoseconds > 0;
  if (timed) {
    line("compute", to_string(stats.compute));
    line("communication", to_string(stats.communicate));
    line("critical path", to_string(stats.critical_path));
    if (stats.without_estimate > 0)
      line("", fmt::format("{} without an estimate count as 0", counted(stats.without_estimate, "operator")));
  } else {
    line("times", "not known: no operator has an estimate");
  }
  line("inputs", to_string(stats.input_bytes));
  line("peak memory", fmt::format("{}{}", to_string(stats.peak), stats.peak_at.empty() ? "" : " at " + stats.peak_at));
  if (!stats.communication.empty()) {
    text += fmt::format("\n  {:<10} {:>6}  {:<15} {:>6} {:>12} {:>12}{}\n", "group", "ranks", "collective", "count",
                        "in", "out", timed ? "         time" : "");
    for (const auto& entry : stats.communication) {
      text += fmt::format("  {:<10} {:>6}  {:<15} {:>6} {:>12} {:>12}", "@" + entry.group, entry.ranks,
                          name_of(entry.kind), entry.count, to_string(entry.bytes_in), to_string(entry.bytes_out));
      text += timed ? fmt::format(" {:>12}\n", to_string(entry.time)) : "\n";
    }
  }
  return text;
}

std::string stats_json(const GraphStats& stats) {
  nlohmann::ordered_json communication = nlohmann::ordered_json::array();
  for (const auto& entry : stats.communication) {
    communication.push_back({{"group", entry.group},
                             {"ranks", entry.ranks},
                             {"kind", name_of(entry.kind)},
                             {"count", entry.count},
                             {"bytes_in", entry.bytes_in.count},
                             {"bytes_out", entry.bytes_out.count},
                             {"ms", entry.time.ms()}});
  }
  const nlohmann::ordered_json json = {{"name", stats.name},
                                       {"nodes", stats.nodes},
                                       {"inputs", stats.inputs},
                                       {"ops", stats.ops},
                                       {"outputs", stats.outputs},
                                       {"views", stats.views},
                                       {"gemms", stats.gemms},
                                       {"mutations", stats.mutations},
                                       {"waits", stats.waits},
                                       {"collectives", stats.collectives},
                                       {"opaque", stats.opaque},
                                       {"opaque_ops", stats.opaque_ops},
                                       {"symbolic", stats.symbolic},
                                       {"without_estimate", stats.without_estimate},
                                       {"compute_ms", stats.compute.ms()},
                                       {"communication_ms", stats.communicate.ms()},
                                       {"critical_path_ms", stats.critical_path.ms()},
                                       {"input_bytes", stats.input_bytes.count},
                                       {"peak_bytes", stats.peak.count},
                                       {"peak_at", stats.peak_at},
                                       {"communication", communication}};
  return json.dump();
}

}  // namespace hocket
