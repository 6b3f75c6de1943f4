#include "graph_compiler.h"

#include <c10/util/Exception.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "hocket/ir/json.h"
#include "hocket/ir/verify.h"
#include "hocket/report/report.h"

namespace hocket {

namespace {

template <class T>
T value_of(Result<T> result) {
  TORCH_CHECK_VALUE(result.has_value(), result ? "" : result.error().to_string());
  return std::move(*result);
}

constexpr const char* source = "the FX graph";

Graph read(const std::string& json) {
  Result<Graph> graph = read_graph_json(json, source);
  if (!graph) throw UnreadableGraph(graph.error().to_string());
  return std::move(*graph);
}

// Of a compilation that failed: was it the graph, whatever the options?
void throw_if_unsound(const Graph& graph) {
  const std::vector<Problem> problems = verify(graph);
  if (!problems.empty()) throw UnreadableGraph(to_error(problems, source).to_string());
}

nlohmann::ordered_json measures_of(const Measures& measures) {
  return {{"step_ms", measures.step_time.ms()},
          {"exposed_ms", measures.exposed.ms()},
          {"compute_ms", measures.compute.ms()},
          {"communication_ms", measures.communication.ms()},
          {"lower_bound_ms", measures.lower_bound.ms()},
          {"peak_bytes", measures.peak.count},
          {"nodes", measures.steps},
          {"collectives", measures.collectives}};
}

// The result goes back to PyTorch: it has only operators that PyTorch has too.
void keep_to_pytorch(PassCall& call) {
  const bool said = std::ranges::any_of(call.arguments, [](const auto& given) { return given.first == "operators"; });
  if (call.name == "overlap" && !said) call.arguments.emplace_back("operators", "pytorch");
}

}  // namespace

CompiledGraph compile_graph(const std::string& json, const GraphRequest& request) {
  Graph graph = read(json);
  CompileOptions options;
  options.cost.machine = value_of(find_machine(request.machine));
  options.memory_limit = value_of(parse_memory_limit(request.memory_limit));
  options.passes = request.passes.empty() ? default_passes() : value_of(parse_passes(request.passes));
  for (PassCall& call : options.passes) keep_to_pytorch(call);
  Result<Compiled> result = compile(Subject(graph), options);
  if (!result) throw_if_unsound(graph);
  Compiled compiled = value_of(std::move(result));
  TORCH_CHECK_VALUE(compiled.graph() != nullptr, "the passes \"", request.passes,
                    "\" make a program of steps, which has no form in FX: leave out lower and what follows it");
  return {std::move(graph), std::move(compiled), std::move(options)};
}

std::string CompiledGraph::json() const { return write_graph_json(*compiled_.graph()); }

std::string CompiledGraph::summary() const {
  nlohmann::ordered_json passes = nlohmann::ordered_json::array();
  for (const PassRun& run : compiled_.runs) {
    passes.push_back({{"pass", run.call},
                      {"changed", run.changed},
                      {"ms", run.time.count()},
                      {"report", run.report},
                      {"notes", run.notes}});
  }
  const nlohmann::ordered_json all = {{"before", measures_of(compiled_.before)},
                                      {"after", measures_of(compiled_.after)},
                                      {"compile_ms", compiled_.total_ms},
                                      {"assumptions", compiled_.assumptions},
                                      {"passes", passes}};
  return all.dump();
}

std::string CompiledGraph::page() const {
  return report_page(
      value_of(report_of(Subject(original_), compiled_, CostModel(options_.cost), options_.memory_limit)));
}

}  // namespace hocket
