// Ways to break a valid graph. Each makes it wrong for sure, or finds no place for itself and leaves it as it was.
// The verifier has to report every one of them, under one of the kinds that are named here.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "hocket/ir/verify.h"
#include "support/graph_draft.h"
#include "support/random.h"

namespace hocket {

struct GraphDefect {
  std::string_view name;
  std::vector<ProblemKind> kinds;
  // Breaks the draft of `graph`; false if there is no place for this defect.
  std::function<bool(GraphDraft& draft, const Graph& graph, Random& random)> apply;
};

std::vector<GraphDefect> graph_defects();

// The parts of that list.
std::vector<GraphDefect> structure_defects();      // names, order, outputs, lists
std::vector<GraphDefect> value_defects();          // types, storages, mutation
std::vector<GraphDefect> communication_defects();  // groups, collectives, waits

// A random node that fulfils a condition; none if there is none.
NodeId pick_node(const Graph& graph, Random& random, const std::function<bool(NodeId)>& condition);
bool is_op(const Graph& graph, NodeId id);
// Does the operator's row say all types of its results, given its arguments?
bool has_known_types(const Graph& graph, NodeId id);
// Puts a node at a position; references to nodes behind it follow.
void insert_node(GraphDraft& draft, NodeId position, DraftNode node);
// Moves one node to another position.
void move_node(GraphDraft& draft, NodeId from, NodeId to);
// A node that computes a new value from another: aten.clone(%source).
DraftNode clone_of(GraphDraft& draft, NodeId source, std::string name);

}  // namespace hocket
