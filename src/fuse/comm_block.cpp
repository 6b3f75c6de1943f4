#include "hocket/fuse/comm_block.h"

#include <algorithm>
#include <array>

#include "ir/node_facts.h"

namespace hocket {

namespace {

// Operators that give a result another form and nothing else. A captured reshape is a view; where it had to copy, it is a clone
// and a view, and the clone is a real user.
constexpr std::array<std::string_view, 9> reshaping = {"getitem",
                                                       "aten.split.Tensor",
                                                       "aten.split.sizes",
                                                       "aten.split_with_sizes.default",
                                                       "aten.reshape.default",
                                                       "aten.view.default",
                                                       "aten._unsafe_view.default",
                                                       "aten.detach.default",
                                                       "aten.alias.default"};

bool only_reshapes(const Graph& graph, NodeId id) {
  return graph.node(id).kind == NodeKind::op &&
         std::find(reshaping.begin(), reshaping.end(), graph.op_name(id)) != reshaping.end();
}

bool is_wait(const Graph& graph, NodeId id) {
  const OpSpec* spec = graph.op_spec(id);
  return spec != nullptr && spec->effects.waits;
}

Status add_wait_of_getitem(const Graph& graph, const Users& users, NodeId getitem, CommBlock& block) {
  const auto uses = users.of(getitem);
  if (uses.size() != 1 || !is_wait(graph, uses[0])) {
    const auto other = std::find_if(uses.begin(), uses.end(), [&](NodeId use) { return !is_wait(graph, use); });
    if (uses.empty()) return fail(ErrorKind::input, "its result {} is never waited for", graph.name(getitem));
    if (other == uses.end())
      return fail(ErrorKind::input, "its result {} has {} waits, expected one", graph.name(getitem), uses.size());
    return fail(ErrorKind::input, "its result {} is used by {}, which is no wait", graph.name(getitem),
                graph.name(*other));
  }
  block.getitems.push_back(getitem);
  block.waits.push_back(uses[0]);
  return {};
}

Status add_waits(const Graph& graph, const Users& users, CommBlock& block) {
  const auto uses = users.of(block.collective);
  if (uses.empty()) return fail(ErrorKind::input, "its result is not used");
  if (uses.size() == 1 && is_wait(graph, uses[0])) {
    block.waits.push_back(uses[0]);
    return {};
  }
  for (const NodeId use : uses) {
    if (is_getitem(graph, use)) {
      HOCKET_CHECK(add_wait_of_getitem(graph, users, use, block));
    } else if (is_wait(graph, use)) {
      return fail(ErrorKind::input, "its result is used by {} nodes, expected one wait", uses.size());
    } else {
      return fail(ErrorKind::input, "its result is used by {}, which is no wait", graph.name(use));
    }
  }
  return {};
}

// Follows the reshaping nodes behind the waits. Each has one tensor argument, so each is met once.
void add_tail(const Graph& graph, const Users& users, CommBlock& block) {
  std::vector<NodeId> open = block.waits;
  while (!open.empty()) {
    const NodeId at = open.back();
    open.pop_back();
    bool used_elsewhere = false;
    for (const NodeId use : users.of(at)) {
      const auto args = graph.args(use);
      if (only_reshapes(graph, use) && !args.empty() && args[0].is(ArgKind::value) && args[0].as_node() == at) {
        open.push_back(use);
        block.tail.push_back(use);
      } else {
        used_elsewhere = true;
      }
    }
    if (used_elsewhere) block.outputs.push_back(at);
  }
  std::sort(block.tail.begin(), block.tail.end());
  std::sort(block.outputs.begin(), block.outputs.end());
}

}  // namespace

Result<CommBlock> find_block(const Graph& graph, const Users& users, NodeId collective) {
  if (graph.collective(collective) == nullptr) return fail(ErrorKind::input, "it does not communicate");
  CommBlock block;
  block.collective = collective;
  block.inputs.assign(graph.inputs(collective).begin(), graph.inputs(collective).end());
  HOCKET_CHECK(add_waits(graph, users, block));
  add_tail(graph, users, block);
  return block;
}

}  // namespace hocket
