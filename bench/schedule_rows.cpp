#include "schedule_rows.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <functional>

#include "hocket/base/progress.h"
#include "hocket/compile/overlap_bound.h"
#include "hocket/ir/file.h"
#include "hocket/schedule/bounds.h"

namespace hocket {

const std::vector<std::string> classic_passes = {
    "sink_waits",
    "raise_comms",
    "raise_comms,sink_waits",
    "reorder_compute_for_overlap",
    "reorder_communication_preserving_peak_memory",
    "sink_waits_iterative",
    "bucket_all_gather,bucket_reduce_scatter,reorder_communication_preserving_peak_memory,sink_waits_iterative"};

namespace {

double gib(Bytes bytes) { return static_cast<double>(bytes.count) / (1 << 30); }

Result<Reached> run_passes(const Graph& graph, const std::string& passes, const CompileOptions& base) {
  CompileOptions options = base;
  HOCKET_TRY(options.passes, parse_passes(passes));
  Result<Compiled> compiled = fail(ErrorKind::internal, "not run");
  const double ms = elapsed_ms([&] { compiled = compile(graph, options); });
  if (!compiled) return fail(std::move(compiled).error());
  double pass_ms = 0;
  for (const PassRun& run : compiled->runs) pass_ms += run.time.count();
  // Wall time of the passes, but no more than all CPU time: another program may have run meanwhile.
  return Reached{compiled->after.step_time.ms(), gib(compiled->after.peak), std::min(pass_ms, ms)};
}

Status measure_overlap(const Graph& graph, const std::string& effort, int rounds, const CompileOptions& base,
                       GraphRow& row) {
  const auto bytes_of_table = static_cast<std::int64_t>(row.pytorch.peak_gib * (1 << 30));
  for (const bool at_pytorch : {false, true}) {
    CompileOptions options = base;
    if (at_pytorch) {
      const auto own = static_cast<std::int64_t>(std::llround(row.original.peak_gib * (1 << 30)));
      options.memory_limit.absolute = Bytes(std::max(own, bytes_of_table));
    }
    Reached& reached = row.by[fmt::format("overlap {} {}", effort, at_pytorch ? "pytorch" : "original")];
    for (int round = 0; round < (at_pytorch ? 1 : rounds); ++round) {
      HOCKET_TRY(const Reached once, run_passes(graph, fmt::format("overlap(effort={})", effort), options));
      const double lowest_ms = round == 0 ? once.pass_ms : std::min(reached.pass_ms, once.pass_ms);
      reached = once;
      reached.pass_ms = lowest_ms;
    }
  }
  return {};
}

Result<GraphRow> measure_graph(const std::string& file, const PytorchResult& pytorch, bool quick,
                               const CompileOptions& base, Progress& progress) {
  HOCKET_TRY(const Graph graph, read_graph(file));
  GraphRow row;
  row.name = std::filesystem::path(file).stem().stem().string();
  row.nodes = graph.size();
  row.pytorch = pytorch;
  HOCKET_TRY(const Measures measures, measure(graph, CostModel(base.cost)));
  row.original = {measures.step_time.ms(), gib(measures.peak), 0};
  HOCKET_TRY(const StepGraph steps,
             StepGraph::of(graph, CostModel(base.cost).times(graph), {.keep_collective_order = false}));
  const StepBound bound = step_bound(steps);
  row.bound_ms = bound.time.ms();
  row.bound = to_string(bound);
  HOCKET_TRY(const StepBound merged, overlap_bound(graph, CostModel(base.cost)));
  row.merged_bound_ms = merged.time.ms();
  row.merged_bound = to_string(merged);
  for (const std::string& passes : classic_passes) {
    HOCKET_TRY(row.by[passes], run_passes(graph, passes, base));
  }
  HOCKET_TRY(row.by["overlap reorder"], run_passes(graph, "overlap(reorder_only=on)", base));
  HOCKET_CHECK(measure_overlap(graph, "fast", quick ? 1 : 3, base, row));
  HOCKET_CHECK(measure_overlap(graph, "default", quick ? 1 : 3, base, row));
  if (!quick) HOCKET_CHECK(measure_overlap(graph, "max", 1, base, row));
  progress.advance();
  return row;
}

}  // namespace

Result<std::vector<GraphRow>> measure_graphs(const BenchFlags& flags, const CompileOptions& base) {
  HOCKET_TRY(const auto pytorch, read_pytorch_results(flags.captures + "/RESULTS.md"));
  std::vector<std::string> files;
  for (const std::string& file : captures_in(flags.captures)) {
    if (pytorch.contains(std::filesystem::path(file).stem().stem().string())) files.push_back(file);
  }
  Progress progress("bench schedule", static_cast<std::int64_t>(files.size()));
  std::vector<GraphRow> rows;
  for (const std::string& file : files) {
    const std::string name = std::filesystem::path(file).stem().stem().string();
    HOCKET_TRY(GraphRow row, measure_graph(file, pytorch.at(name), flags.quick, base, progress));
    rows.push_back(std::move(row));
  }
  std::stable_sort(rows.begin(), rows.end(), [](const GraphRow& a, const GraphRow& b) { return a.nodes < b.nodes; });
  return rows;
}

Result<std::vector<Growth>> measure_growth(bool quick, const CompileOptions& base) {
  std::vector<Growth> list;
  std::vector<std::size_t> sizes = {16'000, 64'000};
  if (!quick) sizes.insert(sizes.end(), {256'000, 1'000'000});
  for (const std::size_t size : sizes) {
    HOCKET_TRY(const Graph graph, make_graph(size));
    Growth growth{graph.size(), {}};
    for (const char* effort : {"fast", "default"}) {
      HOCKET_TRY(const Reached reached, run_passes(graph, fmt::format("overlap(effort={})", effort), base));
      growth.ms[effort] = reached.pass_ms;
    }
    list.push_back(std::move(growth));
  }
  return list;
}

namespace {

double geometric_mean(const std::vector<GraphRow>& rows, const std::function<double(const GraphRow&)>& ratio) {
  double sum = 0;
  for (const GraphRow& row : rows) sum += std::log(ratio(row));
  return rows.empty() ? 0 : std::exp(sum / static_cast<double>(rows.size()));
}

}  // namespace

double mean_ratio(const std::vector<GraphRow>& rows, const std::string& which) {
  return geometric_mean(rows, [&](const GraphRow& row) { return row.by.at(which).step_ms / row.pytorch.step_ms; });
}

double mean_bound(const std::vector<GraphRow>& rows) {
  return geometric_mean(rows, [](const GraphRow& row) { return row.merged_bound_ms / row.pytorch.step_ms; });
}

}  // namespace hocket
