// verify_order() against a judge of its own: for every pair of nodes the judge asks whether they may change places.
// Single rules are in tests/programs/verify_order.hk.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "hocket/ir/file.h"
#include "hocket/ir/text.h"
#include "hocket/ir/verify.h"
#include "support/captures.h"
#include "support/random.h"
#include "support/random_graph.h"

namespace hocket {
namespace {

constexpr std::uint64_t times_longer = 20;

using Order = std::vector<NodeId>;

// ---------------------------------------------------------------- the judge

// What a node does to memory, looked up anew for every pair: slow and simple.
struct Accesses {
  std::set<std::size_t> touched;  // storages
  std::set<std::size_t> written;
};

Accesses accesses_of(const Graph& graph, NodeId id) {
  Accesses result;
  const auto add_all = [&](std::set<std::size_t>& to, NodeId node) {
    for (const Output& output : graph.outputs(node)) to.insert(output.storage.index());
  };
  for (const NodeId input : graph.inputs(id)) add_all(result.touched, input);
  if (graph.node(id).kind == NodeKind::op) add_all(result.touched, id);
  for (const NodeId mutated : graph.mutates(id)) add_all(result.written, mutated);
  // a wait ends the time in which its collective reads
  if (const NodeId awaited = graph.node(id).wait_of; awaited.valid()) {
    for (const NodeId input : graph.inputs(awaited)) add_all(result.touched, input);
  }
  return result;
}

bool meet(const std::set<std::size_t>& a, const std::set<std::size_t>& b) {
  return std::any_of(a.begin(), a.end(), [&](std::size_t one) { return b.contains(one); });
}

bool is_barrier(const Graph& graph, NodeId id) {
  return graph.node(id).kind == NodeKind::op && (graph.op_spec(id) == nullptr || graph.op_spec(id)->effects.opaque);
}

bool has_side_effect(const Graph& graph, NodeId id) {
  return graph.op_spec(id) != nullptr && graph.op_spec(id)->effects.side_effect;
}

// Must `second`, which stands behind `first` in the graph, stay behind it?
bool must_follow(const Graph& graph, NodeId first, NodeId second, const std::vector<Accesses>& accesses) {
  const auto inputs = graph.inputs(second);
  if (std::find(inputs.begin(), inputs.end(), first) != inputs.end()) return true;
  if (graph.node(second).wait_of == first || graph.node(second).kind == NodeKind::output) return true;
  const Accesses& a = accesses[first.index()];
  const Accesses& b = accesses[second.index()];
  if (meet(a.written, b.touched) || meet(a.touched, b.written)) return true;
  const bool both_ops = graph.node(first).kind == NodeKind::op && graph.node(second).kind == NodeKind::op;
  if (both_ops && (is_barrier(graph, first) || is_barrier(graph, second))) return true;
  if (has_side_effect(graph, first) && has_side_effect(graph, second)) return true;
  const Collective* of_first = graph.collective(first);
  const Collective* of_second = graph.collective(second);
  return of_first != nullptr && of_second != nullptr && of_first->group == of_second->group;
}

bool reads_data(const Graph& graph, NodeId id) {
  if (graph.node(id).kind != NodeKind::op) return graph.node(id).kind == NodeKind::output;
  const OpSpec* spec = graph.op_spec(id);
  if (spec == nullptr) return true;
  const bool is_view = graph.node(id).view_of.valid() && graph.mutates(id).empty() && graph.collective(id) == nullptr;
  return !is_view && !spec->metadata_only;
}

class Judge {
 public:
  explicit Judge(const Graph& graph) : followers_(graph.size()), missing_(graph.size(), 0) {
    note_landings(graph);
    std::vector<Accesses> accesses;
    for (std::size_t i = 0; i < graph.size(); ++i) accesses.push_back(accesses_of(graph, NodeId(i)));
    for (std::size_t i = 0; i < graph.size(); ++i) {
      for (std::size_t j = i + 1; j < graph.size(); ++j) {
        if (!must_follow(graph, NodeId(i), NodeId(j), accesses)) continue;
        followers_[i].push_back(NodeId(j));
        ++missing_[j];
      }
    }
  }

  bool allows(const Order& order) const {
    std::vector<std::size_t> position(followers_.size());
    for (std::size_t p = 0; p < order.size(); ++p) position[order[p].index()] = p;
    for (std::size_t i = 0; i < followers_.size(); ++i) {
      for (const NodeId follower : followers_[i]) {
        if (position[i] > position[follower.index()]) return false;
      }
    }
    // any wait for the collective will do, wherever it stood before
    return std::all_of(landings_.begin(), landings_.end(), [&](const Landing& landing) {
      return std::any_of(landing.waits.begin(), landing.waits.end(),
                         [&](NodeId wait) { return position[wait.index()] < position[landing.reader.index()]; });
    });
  }

  // In which every pair stands as it must; a reader may still come before the wait that it relies on.
  Order random_order(Random& random) const {
    std::vector<int> missing = missing_;
    Order ready;
    for (std::size_t i = 0; i < missing.size(); ++i) {
      if (missing[i] == 0) ready.emplace_back(i);
    }
    Order order;
    while (!ready.empty()) {
      std::swap(ready[random.index(ready.size())], ready.back());
      order.push_back(ready.back());
      ready.pop_back();
      for (const NodeId follower : followers_[order.back().index()]) {
        if (--missing[follower.index()] == 0) ready.push_back(follower);
      }
    }
    return order;
  }

 private:
  // Somebody who reads what a collective leaves in flight, and the waits that end the flight.
  struct Landing {
    NodeId reader;
    std::vector<NodeId> waits;
  };

  void note_landings(const Graph& graph) {
    for (std::size_t i = 0; i < graph.size(); ++i) {
      if (graph.collective(NodeId(i)) == nullptr || is_blocking(graph.op_spec(NodeId(i)))) continue;
      std::set<std::size_t> results;
      for (const Output& output : graph.outputs(NodeId(i))) results.insert(output.storage.index());
      std::vector<NodeId> waits;
      for (std::size_t j = i + 1; j < graph.size(); ++j) {
        if (graph.node(NodeId(j)).wait_of == NodeId(i)) waits.emplace_back(j);
      }
      for (std::size_t j = i + 1; j < graph.size(); ++j) {
        if (reads_data(graph, NodeId(j)) && meet(inputs_of(graph, NodeId(j)), results))
          landings_.push_back({NodeId(j), waits});
      }
    }
  }
  static std::set<std::size_t> inputs_of(const Graph& graph, NodeId id) {
    std::set<std::size_t> storages;
    for (const NodeId input : graph.inputs(id)) {
      for (const Output& output : graph.outputs(input)) storages.insert(output.storage.index());
    }
    return storages;
  }

  std::vector<std::vector<NodeId>> followers_;
  std::vector<int> missing_;
  std::vector<Landing> landings_;
};

// ---------------------------------------------------------------- what a program computes

// Runs a graph in some order on made-up numbers. A collective does its work when it starts, or at the last moment, in its
// wait: an order that changes its input meanwhile, or looks at its result, gets other numbers in one of the two.
enum class Transfer { at_start, at_wait };

class Machine {
 public:
  Machine(const Graph& graph, Transfer transfer)
      : graph_(graph), transfer_(transfer), memory_(graph.storages().size(), 0), seen_(graph.size(), 0) {
    for (std::size_t i = 0; i < graph.size(); ++i) {
      if (graph.node(NodeId(i)).kind != NodeKind::op)
        put(NodeId(i), i + 77);  // what the caller passes is there from the start
    }
  }

  // A number for each node: a digest of what it computed.
  std::vector<std::uint64_t> run(const Order& order) {
    for (const NodeId id : order) step(id);
    return seen_;
  }

 private:
  static std::uint64_t mixed(std::uint64_t a, std::uint64_t b) { return Random(a * 31 + b).next(); }

  std::uint64_t contents(NodeId node) const {
    std::uint64_t sum = 0;
    for (const Output& output : graph_.outputs(node)) sum = mixed(sum, memory_[output.storage.index()]);
    return sum;
  }
  void put(NodeId node, std::uint64_t value) {
    for (const Output& output : graph_.outputs(node)) memory_[output.storage.index()] = value;
  }
  std::uint64_t computed(NodeId id) const {
    std::uint64_t sum = id.value + 1;
    if (graph_.op_spec(id) != nullptr && graph_.op_spec(id)->metadata_only) return sum;  // sizes do not change
    for (const NodeId input : graph_.inputs(id)) sum = mixed(sum, contents(input));
    return sum;
  }

  bool only_views(NodeId id) const { return graph_.node(id).view_of.valid() && graph_.mutates(id).empty(); }

  void step(NodeId id) {
    const Node& node = graph_.node(id);
    const OpSpec* spec = graph_.op_spec(id);
    if (node.wait_of.valid()) return land(node.wait_of);
    if (spec != nullptr && spec->effects.side_effect) world_ = mixed(world_, id.value);
    if (graph_.collective(id) != nullptr) {
      flying_.insert(id);
      return transfer_ == Transfer::at_start ? land(id) : void();
    }
    if (only_views(id)) return;
    const bool sees_world = node.kind == NodeKind::op && (spec == nullptr || spec->effects.side_effect);
    seen_[id.index()] = mixed(computed(id), sees_world ? world_ : 0);
    if (node.kind == NodeKind::op && !node.view_of.valid()) put(id, seen_[id.index()]);
    for (const NodeId mutated : graph_.mutates(id)) put(mutated, mixed(seen_[id.index()], contents(mutated)));
  }

  void land(NodeId collective) {
    if (flying_.erase(collective) == 0) return;  // waited for before
    seen_[collective.index()] = computed(collective);
    put(collective, seen_[collective.index()]);
    for (const NodeId mutated : graph_.mutates(collective)) put(mutated, seen_[collective.index()]);
  }

  const Graph& graph_;
  const Transfer transfer_;
  std::vector<std::uint64_t> memory_;
  std::vector<std::uint64_t> seen_;
  std::set<NodeId> flying_;
  std::uint64_t world_ = 1;  // what side effects change
};

// ---------------------------------------------------------------- the tests

// The first node, in the order of the graph, that computes something else; empty if all compute the same.
std::string first_difference(const Graph& graph, const std::vector<std::uint64_t>& a,
                             const std::vector<std::uint64_t>& b) {
  const auto found = std::mismatch(a.begin(), a.end(), b.begin()).first;
  return found == a.end() ? "" : std::string(graph.name(NodeId(static_cast<std::size_t>(found - a.begin()))));
}

std::string listed(const Graph& graph, const std::vector<NodeId>& order) {
  std::string text;
  for (const NodeId id : order) text += std::string(graph.name(id)) + " ";
  return text;
}

Order given_order(const Graph& graph) {
  Order order;
  for (std::size_t i = 0; i < graph.size(); ++i) order.emplace_back(i);
  return order;
}

std::string words(const std::vector<Problem>& problems) {
  return problems.empty() ? "" : to_error(problems, "the order").message;
}

// Changes an order a little, so that it is about as often legal as not.
void disturb(Order& order, Random& random) {
  const std::size_t from = random.index(order.size());
  const std::size_t reach = random.chance(70) ? 3 : order.size();
  const std::size_t to = std::min(order.size() - 1, from + random.index(reach));
  if (random.chance(50)) std::swap(order[from], order[to]);
  else if (random.chance(50))
    std::rotate(order.begin() + static_cast<std::ptrdiff_t>(from), order.begin() + static_cast<std::ptrdiff_t>(to),
                order.begin() + static_cast<std::ptrdiff_t>(to) + 1);
  else
    std::rotate(order.begin() + static_cast<std::ptrdiff_t>(from),
                order.begin() + static_cast<std::ptrdiff_t>(from) + 1,
                order.begin() + static_cast<std::ptrdiff_t>(to) + 1);
}

struct Verdicts {
  int legal = 0;
  int illegal = 0;
};

void judge_orders(const Graph& graph, std::uint64_t seed, int rounds, Verdicts& verdicts) {
  Random random(seed);
  const Judge judge(graph);
  const auto computed = Machine(graph, Transfer::at_wait).run(given_order(graph));
  for (int round = 0; round < rounds; ++round) {
    Order order = random.chance(20) ? given_order(graph) : judge.random_order(random);
    for (std::int64_t left = random.between(0, 2); left > 0; --left) disturb(order, random);
    const bool legal = judge.allows(order);
    const auto problems = verify_order(graph, order);
    ASSERT_EQ(problems.empty(), legal) << words(problems) << "\nin the order " << listed(graph, order) << "\n"
                                       << print(graph);
    for (const Transfer transfer : {Transfer::at_start, Transfer::at_wait}) {
      if (!legal) break;
      ASSERT_EQ(first_difference(graph, Machine(graph, transfer).run(order), computed), "")
          << "in the order " << listed(graph, order) << "\n"
          << print(graph);
    }
    ++(legal ? verdicts.legal : verdicts.illegal);
  }
}

void judge_random_graphs(std::uint64_t first, std::uint64_t count) {
  Verdicts verdicts;
  for (std::uint64_t seed = first; seed < first + count && !testing::Test::HasFatalFailure(); ++seed) {
    SCOPED_TRACE(fmt::format("seed {}", seed));
    judge_orders(random_graph(seed), seed, 10, verdicts);
  }
  fmt::print("{} legal orders accepted, {} illegal ones rejected\n", verdicts.legal, verdicts.illegal);
  EXPECT_GT(verdicts.legal, 0);
  EXPECT_GT(verdicts.illegal, 0);
}

TEST(VerifyOrder, agrees_with_a_judge_of_pairs_on_random_graphs) { judge_random_graphs(0, 1000); }
TEST(LongVerifyOrder, agrees_with_a_judge_of_pairs_on_random_graphs) {
  judge_random_graphs(1'000'000, 1000 * times_longer);
}

TEST(VerifyOrder, agrees_with_a_judge_of_pairs_on_shipped_captures) {
  Verdicts verdicts;
  for (const std::string& path : shipped_captures()) {
    const auto graph = read_graph(path);
    ASSERT_TRUE(graph) << graph.error().to_string();
    if (graph->size() > 1000) continue;  // all pairs take too long
    judge_orders(*graph, 1, 20, verdicts);
  }
  EXPECT_GT(verdicts.legal + verdicts.illegal, 0);
}

TEST(LongVerifyOrder, agrees_with_a_judge_of_pairs_on_shipped_captures) {
  Verdicts verdicts;
  for (const std::string& path : shipped_captures()) judge_orders(*read_graph(path), 1, 20, verdicts);
}

TEST(VerifyOrder, rejects_orders_that_are_no_permutation) {
  const Graph graph = random_graph(3);
  EXPECT_FALSE(verify_order(graph, {}).empty());
  Order order = given_order(graph);
  order.pop_back();
  EXPECT_FALSE(verify_order(graph, order).empty());
  order.push_back(order[0]);
  EXPECT_FALSE(verify_order(graph, order).empty());
  order.back() = NodeId(graph.size());
  EXPECT_FALSE(verify_order(graph, order).empty());
  order.back() = NodeId::none();
  EXPECT_FALSE(verify_order(graph, order).empty());
}

}  // namespace
}  // namespace hocket
