// Turns a graph of values into a program of steps on buffers.
//
//   Result<Lowered> lowered = lower(graph);
//   fmt::print("{}", print(lowered->program));
//   fmt::print("{}", describe(lowered->report, graph, lowered->program));
//
// The steps stand in the order of the nodes. Views and getitem vanish: an operand is a place in a buffer. Storages become
// buffers, one for one. docs/passes/lower.md describes what happens to collectives.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "hocket/lower/registry.h"
#include "hocket/lower/report.h"

namespace hocket {

struct LowerOptions {
  // How sums are carried out; absent: by size, see the two limits.
  std::optional<ReduceAlgorithm> force = {};
  // Measured on the machine (`hocket calibrate`); these suit GPUs of one host.
  Bytes one_shot_limit{std::int64_t{128} << 10};
  Bytes two_shot_limit{std::int64_t{1} << 20};
  // Ranks that can read each other's memory stand side by side in blocks of this many; 0: all can.
  int ranks_per_host = 0;
  // Off: nothing is placed in symmetric memory.
  bool symmetric = true;
  // Groups without symmetric memory, by name.
  std::vector<std::string> ordinary_groups = {};
  // An input that the program does not own is copied into a communication buffer up to this size. Above it the copy would
  // take longer than it saves: the transport copies in pieces while it sends.
  Bytes copy_in_limit{std::int64_t{256} << 10};
};

struct Lowered {
  Program program;
  LowerReport report;
  std::vector<BufferId>
      inputs;  // by the graph's inputs and attributes, in their order; none() for one that nothing uses
};

Result<Lowered> lower(const Graph& graph, const LowerOptions& options = {},
                      const LoweringRegistry& registry = LoweringRegistry::builtin());

}  // namespace hocket
