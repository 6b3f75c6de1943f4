// The verifier: says everything that is wrong with a program. It shares no analysis with the passes, so that a mistake
// there can't hide here.
//
//   for (const Problem& problem : verify(graph)) fmt::print("{}\n", problem.to_string());
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "hocket/ir/graph.h"
#include "hocket/ir/program.h"

namespace hocket {

enum class ProblemKind : std::uint8_t {
  name,        // missing or used twice
  structure,   // no output, output not last, a list used as a tensor, an unknown reference
  cycle,       // values that depend on each other in a circle
  order,       // used before it is defined, or steps that changed places around a mutation
  type,        // not what the operator's row says
  storage,     // shared or reused where the operators don't, too small, or on another device
  mutation,    // writes that are not declared, or that hit data in flight
  collective,  // kind, group or bytes that don't fit the call
  wait,        // a result used before its wait, or never waited for
  group,       // no ranks, ranks twice, out of the world, or without this rank
  memory,      // buffers that overlap while both are live
};

std::string_view name_of(ProblemKind kind);

struct Problem {
  ProblemKind kind = ProblemKind::structure;
  std::string node;     // the node, step, buffer or group; empty for the whole
  std::string message;  // lower case, no full stop

  std::string to_string() const;  // "mm_3: type: …"
};

// All problems, in the order of the nodes. Empty: the graph is sound.
std::vector<Problem> verify(const Graph& graph);
std::vector<Problem> verify(const Program& program);

// Is `order` (node ids of `graph`, each once) an order that computes the same? Dependencies, mutation order, side effects,
// waits before uses, and the order of the collectives of each group, which all ranks have agreed on.
struct OrderOptions {
  bool keep_collective_order = true;  // off only where ranks agree on the new order
};
std::vector<Problem> verify_order(const Graph& graph, std::span<const NodeId> order, const OrderOptions& options = {});
std::vector<Problem> verify_order(const Program& program, std::span<const StepId> order,
                                  const OrderOptions& options = {});

// All problems as one error for a caller that can go no further; at most `most` are spelled out.
Error to_error(const std::vector<Problem>& problems, std::string_view what, std::size_t most = 20);

}  // namespace hocket
