// Orders that the verifier accepts compute the same; those that it rejects for the sake of data do not.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "hocket/ir/verify.h"
#include "noticed.h"
#include "support/graph_draft.h"
#include "support/interpreter_machine.h"
#include "support/random.h"
#include "support/random_graph.h"

namespace hocket {

namespace {

// Moves some nodes to other places nearby. The output stays the last. With `keep_dependencies` no node passes one that its arguments
// name; what is written in place, and what is in flight, is not looked at.
std::vector<NodeId> shaken(const Graph& graph, Random& random, bool keep_dependencies) {
  std::vector<NodeId> order;
  for (std::size_t i = 0; i < graph.size(); ++i) order.emplace_back(i);
  const auto depends = [&](NodeId user, NodeId on) {
    const auto inputs = graph.inputs(user);
    return keep_dependencies && std::find(inputs.begin(), inputs.end(), on) != inputs.end();
  };
  const std::int64_t moves = random.between(1, keep_dependencies ? 6 : 2);
  const auto last = graph.size() - 2;
  for (std::int64_t move = 0; move < moves; ++move) {
    std::size_t at = random.index(last + 1);
    const NodeId node = order[at];
    const std::int64_t steps = random.between(1, 10);
    const bool forward = random.chance(50);
    for (std::int64_t step = 0; step < steps; ++step) {
      if (forward ? at == last || depends(order[at + 1], node) : at == 0 || depends(node, order[at - 1])) break;
      std::swap(order[at], order[forward ? at + 1 : at - 1]);
      at = forward ? at + 1 : at - 1;
    }
  }
  return order;
}

Graph reordered(const Graph& graph, const std::vector<NodeId>& order) {
  GraphDraft draft = GraphDraft::of(graph);
  draft.reorder(order);
  return *draft.build();
}

RandomGraphOptions small_options(std::uint64_t seed) {
  RandomGraphOptions options = random_graph_options(seed);
  options.symbolic = false;
  options.world = seed % 2 == 0 ? 2 : 4;
  options.width = options.world;
  options.operators = 30;
  options.mutations = 20;
  options.collectives = 20;
  options.odd_names = false;
  return options;
}

// ---- why an order that the verifier rejects may compute the same

bool touches_no_data(const Graph& graph, NodeId id) {
  const OpSpec* spec = graph.op_spec(id);
  if (spec == nullptr) return graph.node(id).kind == NodeKind::input;
  const bool is_view = graph.node(id).view_of.valid() && graph.mutates(id).empty() && !spec->effects.comm;
  return is_view || spec->metadata_only || interpreter::looks_at_no_data(interpreter::base_name(spec->name));
}

// The elements of a storage that a node reads or writes.
std::set<std::int64_t> elements(const Graph& graph, NodeId id, StorageId storage) {
  std::set<std::int64_t> touched;
  const auto add = [&](NodeId node) {
    for (const Output& output : graph.outputs(node)) {
      if (output.storage == storage)
        interpreter::for_each_element(interpreter::layout_of(graph.type(output)),
                                      [&](std::int64_t at) { touched.insert(at); });
    }
  };
  add(id);
  for (const NodeId input : graph.inputs(id)) add(input);
  return touched;
}

bool are_disjoint(const Graph& graph, NodeId a, NodeId b) {
  for (std::size_t i = 0; i < graph.storages().size(); ++i) {
    const auto mine = elements(graph, a, StorageId(i));
    const auto others = elements(graph, b, StorageId(i));
    if (std::any_of(mine.begin(), mine.end(), [&](std::int64_t at) { return others.contains(at); })) return false;
  }
  return true;
}

// It writes what is there already: without it, all values are the same.
bool changes_nothing(const Graph& graph, NodeId writer, std::uint64_t seed) {
  GraphDraft draft = GraphDraft::of(graph);
  const NodeId target = graph.mutates(writer)[0];
  for (DraftNode& node : draft.nodes) draft.redirect(node, [&](NodeId old) { return old == writer ? target : old; });
  draft.erase(writer);
  const auto without = draft.build();
  return without && noticed(graph, *without, seed).empty();
}

// x - x and max(x, x): the difference is nothing, whatever x is, and the larger of two equals is a copy.
bool has_equal_arguments(const Graph& graph, NodeId id) {
  const auto args = graph.args(id);
  return args.size() >= 2 && args[0].is(ArgKind::value) && args[1].is(ArgKind::value) &&
         args[0].as_node() == args[1].as_node();
}

// Two that scale, or two that add, give the same in any order.
bool commute(const Graph& graph, NodeId a, NodeId b) {
  const std::string_view op = graph.op_name(a);
  return op == graph.op_name(b) && (op == "aten.mul_.Tensor" || op == "aten.add_.Tensor");
}

// The name between `before` and `after` in a message; empty if it does not stand there.
std::string_view between(std::string_view text, std::string_view before, std::string_view after) {
  if (!text.starts_with(before)) return {};
  text.remove_prefix(before.size());
  return text.substr(0, text.find(after));
}

const char* const agreement =
    "collectives of a group changed places: ranks must agree on their order, values don't depend on it";
const char* const passed_unknown = "something passed an unknown operator that does not name it";
const char* const touches_none = "a view, or what looks at sizes alone, passed a write of the same storage";

// Empty: nothing explains it.
std::string explanation(const Graph& graph, const Problem& problem, std::uint64_t seed) {
  if (problem.message.find("changed places on group @") != std::string::npos) return agreement;
  if (problem.message.find("whose effects are not known") != std::string::npos) return passed_unknown;
  const auto user = graph.find(problem.node);
  const auto writer = graph.find(between(problem.message, "and ", " changed places"));
  if (!user || !writer) return "";
  if (touches_no_data(graph, *user) || touches_no_data(graph, *writer)) return touches_none;
  if (are_disjoint(graph, *user, *writer)) return "they touch other elements of the same storage";
  if (commute(graph, *user, *writer)) return "two writes that may come in any order";
  if (has_equal_arguments(graph, *user)) return "the result of x - x does not depend on x";
  if (!graph.mutates(*writer).empty() && changes_nothing(graph, *writer, seed))
    return "it writes what is there already";
  return "";
}

}  // namespace

namespace {

void expect_accepted_orders_kept(std::uint64_t seeds) {
  std::uint64_t accepted = 0;
  for (std::uint64_t seed = 0; seed < seeds; ++seed) {
    const Graph graph = random_graph(seed, small_options(seed));
    Random random(seed + 17);
    const auto order = shaken(graph, random, true);
    if (!verify_order(graph, order).empty()) continue;
    ASSERT_EQ(noticed(graph, reordered(graph, order), seed), "") << "seed " << seed;
    ++accepted;
  }
  EXPECT_GT(accepted, seeds / 2);
}

}  // namespace

TEST(Reordering, accepted_orders_compute_the_same) { expect_accepted_orders_kept(1000); }
TEST(LongReordering, accepted_orders_compute_the_same) { expect_accepted_orders_kept(20000); }

TEST(Reordering, rejected_orders_are_noticed_or_explained) {
  for (const bool keep_dependencies : {false, true}) {
    int seen = 0;
    int missed_data = 0;  // of those that concern data, and not the agreement of ranks or unknown operators
    std::map<std::string, int> explanations;
    for (std::uint64_t seed = 0; seed < 1000; ++seed) {
      const Graph graph = random_graph(seed, small_options(seed));
      Random random(seed + 4711);
      const auto order = shaken(graph, random, keep_dependencies);
      const auto problems = verify_order(graph, order);
      if (problems.empty()) continue;
      if (!noticed(graph, reordered(graph, order), seed).empty()) {
        ++seen;
        continue;
      }
      bool concerns_data = false;
      for (const Problem& problem : problems) {
        const std::string why = explanation(graph, problem, seed);
        EXPECT_NE(why, "") << "seed " << seed << ": " << problem.to_string();
        ++explanations[why];
        concerns_data = concerns_data || (why != agreement && why != passed_unknown && why != touches_none);
      }
      if (concerns_data) ++missed_data;
    }
    for (const auto& [why, count] : explanations) RecordProperty(why, count);
    EXPECT_GT(seen, keep_dependencies ? 30 : 500);
    EXPECT_LE(missed_data * 10, seen) << "of those about data, nine of ten show";
  }
}

}  // namespace hocket
