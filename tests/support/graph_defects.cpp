#include "support/graph_defects.h"

#include <algorithm>

namespace hocket {

NodeId pick_node(const Graph& graph, Random& random, const std::function<bool(NodeId)>& condition) {
  // from a random start onwards: cheap on large graphs, and every place has its turn
  const std::size_t start = random.index(graph.size());
  for (std::size_t i = 0; i < graph.size(); ++i) {
    const NodeId id((start + i) % graph.size());
    if (condition(id)) return id;
  }
  return NodeId::none();
}

bool is_op(const Graph& graph, NodeId id) { return graph.node(id).kind == NodeKind::op; }

bool has_known_types(const Graph& graph, NodeId id) {
  const OpSpec* spec = graph.op_spec(id);
  if (spec == nullptr || spec->shape == nullptr) return false;
  SymbolTable symbols = graph.symbols();
  const GraphValues values(graph);
  return spec->shape(Call(graph.pool(), graph.args(id), graph.keywords(id), values, symbols)).has_value();
}

void insert_node(GraphDraft& draft, NodeId position, DraftNode node) {
  const auto shifted = [&](NodeId old) { return old.index() >= position.index() ? NodeId(old.index() + 1) : old; };
  for (DraftNode& other : draft.nodes) draft.redirect(other, shifted);
  draft.redirect(node, shifted);
  draft.nodes.insert(draft.nodes.begin() + static_cast<std::ptrdiff_t>(position.index()), std::move(node));
}

void move_node(GraphDraft& draft, NodeId from, NodeId to) {
  std::vector<NodeId> order;
  for (std::size_t i = 0; i < draft.nodes.size(); ++i) {
    if (i != from.index()) order.emplace_back(i);
  }
  order.insert(order.begin() + static_cast<std::ptrdiff_t>(to.index()), from);
  draft.reorder(order);
}

DraftNode clone_of(GraphDraft& draft, NodeId source, std::string name) {
  DraftNode node;
  node.name = std::move(name);
  node.op = "aten.clone.default";
  node.args = {Arg::value(source)};
  node.outputs = draft.nodes[source.index()].outputs;
  for (DraftOutput& output : node.outputs) {
    draft.storage_bytes.push_back(draft.storage_bytes[output.storage]);
    output.storage = draft.storage_bytes.size() - 1;
  }
  return node;
}

std::vector<GraphDefect> graph_defects() {
  std::vector<GraphDefect> all;
  for (auto part : {structure_defects(), value_defects(), communication_defects()})
    std::move(part.begin(), part.end(), std::back_inserter(all));
  return all;
}

// ---------------------------------------------------------------- names, order, outputs, lists

namespace {

NodeId output_of(const Graph& graph) { return NodeId(graph.size() - 1); }

// An operator and one of its inputs that is an operator too.
bool pick_dependent(const Graph& graph, Random& random, NodeId& user, NodeId& input) {
  user = pick_node(graph, random, [&](NodeId id) {
    const auto inputs = graph.inputs(id);
    return is_op(graph, id) && std::any_of(inputs.begin(), inputs.end(), [&](NodeId one) { return is_op(graph, one); });
  });
  if (!user.valid()) return false;
  std::vector<NodeId> candidates;
  for (const NodeId one : graph.inputs(user)) {
    if (is_op(graph, one)) candidates.push_back(one);
  }
  input = random.pick(candidates);
  return true;
}

bool swap_dependent(GraphDraft& draft, const Graph& graph, Random& random) {
  NodeId user;
  NodeId input;
  if (!pick_dependent(graph, random, user, input)) return false;
  std::vector<NodeId> order;
  for (std::size_t i = 0; i < graph.size(); ++i) order.emplace_back(i);
  std::swap(order[user.index()], order[input.index()]);
  draft.reorder(order);
  return true;
}

bool move_before_input(GraphDraft& draft, const Graph& graph, Random& random) {
  NodeId user;
  NodeId input;
  if (!pick_dependent(graph, random, user, input)) return false;
  move_node(draft, user, input);
  return true;
}

bool close_circle(GraphDraft& draft, const Graph& graph, Random& random) {
  NodeId user;
  NodeId input;
  if (!pick_dependent(graph, random, user, input) || graph.inputs(input).empty()) return false;
  draft.redirect_args(draft.nodes[input.index()], [&](NodeId) { return user; });
  return true;
}

bool use_itself(GraphDraft& draft, const Graph& graph, Random& random) {
  const NodeId id =
      pick_node(graph, random, [&](NodeId one) { return is_op(graph, one) && !graph.inputs(one).empty(); });
  if (!id.valid()) return false;
  draft.redirect_args(draft.nodes[id.index()], [&](NodeId) { return id; });
  return true;
}

bool duplicate_node(GraphDraft& draft, const Graph& graph, Random& random) {
  const NodeId id = pick_node(graph, random, [&](NodeId one) { return is_op(graph, one); });
  if (!id.valid()) return false;
  insert_node(draft, NodeId(id.index() + 1), draft.nodes[id.index()]);
  return true;
}

bool same_name(GraphDraft& draft, const Graph& graph, Random& random) {
  const NodeId a(random.index(graph.size()));
  const NodeId b(random.index(graph.size()));
  if (a == b) return false;
  draft.nodes[a.index()].name = draft.nodes[b.index()].name;
  return true;
}

bool no_name(GraphDraft& draft, const Graph& graph, Random& random) {
  draft.nodes[random.index(graph.size())].name.clear();
  return true;
}

bool no_output(GraphDraft& draft, const Graph& graph, Random&) {
  draft.erase(output_of(graph));
  return true;
}

bool output_not_last(GraphDraft& draft, const Graph& graph, Random& random) {
  if (graph.size() < 2) return false;
  move_node(draft, output_of(graph), NodeId(random.index(graph.size() - 1)));
  return true;
}

bool second_output(GraphDraft& draft, const Graph&, Random&) {
  draft.nodes.push_back(draft.nodes.back());
  draft.nodes.back().name = "second output";
  return true;
}

bool list_as_tensor(GraphDraft& draft, const Graph& graph, Random& random) {
  const auto is_element = [&](NodeId id) {
    return is_op(graph, id) && graph.op_name(id) == "getitem" && graph.node(graph.inputs(id)[0]).multi;
  };
  const NodeId user = pick_node(graph, random, [&](NodeId id) {
    const auto inputs = graph.inputs(id);
    return is_op(graph, id) && graph.op_name(id) != "getitem" && std::any_of(inputs.begin(), inputs.end(), is_element);
  });
  if (!user.valid()) return false;
  draft.redirect_args(draft.nodes[user.index()],
                      [&](NodeId old) { return is_element(old) ? graph.inputs(old)[0] : old; });
  return true;
}

bool results_not_marked_as_list(GraphDraft& draft, const Graph& graph, Random& random) {
  const NodeId id = pick_node(graph, random, [&](NodeId one) { return graph.outputs(one).size() > 1; });
  if (!id.valid()) return false;
  draft.nodes[id.index()].multi = false;
  return true;
}

bool input_with_argument(GraphDraft& draft, const Graph& graph, Random& random) {
  const NodeId id =
      pick_node(graph, random, [&](NodeId one) { return graph.node(one).kind == NodeKind::input && one.index() > 0; });
  if (!id.valid()) return false;
  draft.nodes[id.index()].args = {Arg::value(NodeId(0))};
  return true;
}

bool input_that_mutates(GraphDraft& draft, const Graph& graph, Random& random) {
  const NodeId id = pick_node(graph, random, [&](NodeId one) { return graph.node(one).kind == NodeKind::input; });
  if (!id.valid()) return false;
  draft.nodes[id.index()].mutates = {id};
  return true;
}

bool use_of_output(GraphDraft& draft, const Graph& graph, Random&) {
  DraftNode node;
  node.name = "after the end";
  node.op = "mylib.op.default";
  node.args = {Arg::value(output_of(graph))};
  draft.nodes.push_back(std::move(node));
  return true;
}

}  // namespace

std::vector<GraphDefect> structure_defects() {
  using enum ProblemKind;
  return {
      {"swap two dependent nodes", {order}, swap_dependent},
      {"move a node before its input", {order}, move_before_input},
      {"close a circle", {cycle}, close_circle},
      {"let a node use itself", {cycle}, use_itself},
      {"duplicate a node", {name}, duplicate_node},
      {"give two nodes one name", {name}, same_name},
      {"take a node's name away", {name}, no_name},
      {"drop the output", {structure}, no_output},
      {"put the output earlier", {structure}, output_not_last},
      {"add a second output", {structure}, second_output},
      {"use the output", {structure}, use_of_output},
      {"use a list as a tensor", {structure}, list_as_tensor},
      {"unmark a list of results", {structure}, results_not_marked_as_list},
      {"give an input an argument", {structure}, input_with_argument},
      {"let an input write", {structure}, input_that_mutates},
  };
}

}  // namespace hocket
