#include "hocket/fuse/forward_copies.h"

#include <map>

#include "hocket/ir/users.h"
#include "ir/node_facts.h"

namespace hocket {

namespace {

struct Copy {
  NodeId to;
  NodeId from;
};

// Who uses what lies in a storage.
class StorageUses {
 public:
  explicit StorageUses(const Graph& graph)
      : graph_(graph), users_(graph), lies_in_(graph.storages().size()), waits_(first_waits(graph)) {
    for (std::size_t i = 0; i < graph.size(); ++i) {
      for (const Output& output : graph.outputs(NodeId(i))) {
        std::vector<NodeId>& there = lies_in_[output.storage.index()];
        if (there.empty() || there.back() != NodeId(i)) there.push_back(NodeId(i));
      }
    }
  }

  // Is anything of the storage, `except` these two, used at or behind the node?
  bool used_from(NodeId node, StorageId storage, NodeId except, NodeId or_except = NodeId::none()) const {
    for (const NodeId value : lies_in_[storage.index()]) {
      if (value == except || value == or_except) continue;
      for (const NodeId user : users_.of(value)) {
        if (user >= node && !takes_another(user, storage)) return true;
      }
    }
    return false;
  }

  // Does a collective from before the node that has anything of the storage go on behind it?
  bool communicated_at(NodeId node, StorageId storage) const {
    for (const NodeId value : lies_in_[storage.index()]) {
      for (const NodeId user : users_.of(value)) {
        if (is_in_flight(graph_, waits_, user, node)) return true;
      }
    }
    return false;
  }

  // Is this value used behind the node?
  bool value_used_after(NodeId node, NodeId value) const {
    const auto uses = users_.of(value);
    return !uses.empty() && uses.back() > node;
  }

 private:
  // A getitem of a list takes one of its tensors.
  bool takes_another(NodeId user, StorageId storage) const {
    return is_getitem(graph_, user) && graph_.outputs(user).size() == 1 && graph_.outputs(user)[0].storage != storage;
  }

  const Graph& graph_;
  Users users_;
  std::vector<std::vector<NodeId>> lies_in_;
  std::vector<NodeId> waits_;  // first_waits()
};

bool is_copy(const Graph& graph, NodeId id) {
  if (!is_op(graph, id, "aten.copy_.default")) return false;
  const auto args = graph.args(id);
  return args.size() >= 2 && args[0].is(ArgKind::value) && args[1].is(ArgKind::value) &&
         graph.outputs(args[0].as_node()).size() == 1 && graph.outputs(args[1].as_node()).size() == 1;
}

// The whole of memory that the graph itself allocates. Dense, since no tensor that fills its memory has gaps or overlaps.
Status check_own_memory(const Graph& graph, NodeId id) {
  const Output& output = graph.outputs(id)[0];
  const Storage& storage = graph.storage(output.storage);
  const NodeId allocator = storage.allocated_by;
  if (!allocator.valid() || graph.node(allocator).kind != NodeKind::op)
    return fail(ErrorKind::input, "{} lies in memory that was there before", graph.name(id));
  const bool whole = storage.bytes.is_static() && output.offset.is_static() && output.offset.value() == 0 &&
                     tensor_bytes(graph.type(output)).count == storage.bytes.value();
  if (!whole) return fail(ErrorKind::input, "{} is not the whole of its memory", graph.name(id));
  return {};
}

Status check_copy(const Graph& graph, const StorageUses& uses, NodeId id, const Copy& copy) {
  const Output& to = graph.outputs(copy.to)[0];
  const Output& from = graph.outputs(copy.from)[0];
  if (to.storage == from.storage) return fail(ErrorKind::input, "it copies within one memory");
  if (!same_type(graph.type(to), graph.type(from)) || to.device != from.device)
    return fail(ErrorKind::input, "it changes the type");
  HOCKET_CHECK(check_own_memory(graph, copy.to));
  HOCKET_CHECK(check_own_memory(graph, copy.from));
  if (uses.used_from(id, from.storage, copy.from) || uses.value_used_after(id, copy.from))
    return fail(ErrorKind::input, "{} is used later, too", graph.name(copy.from));
  if (uses.communicated_at(id, from.storage))
    return fail(ErrorKind::input, "{} is still being communicated", graph.name(copy.from));
  if (uses.used_from(id, to.storage, copy.to, id))
    return fail(ErrorKind::input, "a view of {} from before is used later", graph.name(copy.to));
  return {};
}

}  // namespace

Result<RewriteResult> forward_copies(const Graph& graph, const ForwardCopiesOptions&) {
  const StorageUses uses(graph);
  RewriteResult result;
  std::map<NodeId, Copy> copies;
  for (std::size_t i = 0; i < graph.size(); ++i) {
    const NodeId id(i);
    if (!is_copy(graph, id)) continue;
    const Copy copy{graph.args(id)[0].as_node(), graph.args(id)[1].as_node()};
    if (const Status fits = check_copy(graph, uses, id, copy); fits) copies[id] = copy;
    else result.notes.push_back(fmt::format("{}: {}", graph.name(id), fits.error().message));
  }
  result.report = fmt::format("{} cop{} forwarded", copies.size(), copies.size() == 1 ? "y" : "ies");
  if (copies.empty()) return result;
  GraphRewriter rewriter(graph);
  for (std::size_t i = 0; i < graph.size(); ++i) {
    const auto found = copies.find(NodeId(i));
    if (found == copies.end()) {
      rewriter.copy(NodeId(i));
      continue;
    }
    rewriter.replace(found->second.to, rewriter.now(found->second.from));
    rewriter.replace(NodeId(i), rewriter.now(found->second.from));
  }
  HOCKET_TRY(result.graph, rewriter.finish());
  return result;
}

}  // namespace hocket
