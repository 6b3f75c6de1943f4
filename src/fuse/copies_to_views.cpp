#include "hocket/fuse/copies_to_views.h"

#include <algorithm>
#include <map>

#include "hocket/ir/users.h"
#include "ir/node_facts.h"

namespace hocket {

namespace {

bool is_static(const Graph& graph, const Output& output) {
  return output.offset.is_static() && all_static(graph.type(output).shape) && all_static(graph.type(output).strides);
}

std::int64_t elements(const TypeView& type) {
  std::int64_t count = 1;
  for (const Dim size : type.shape) count *= size.value();
  return count;
}

class Finder {
 public:
  explicit Finder(const Graph& graph) : graph_(graph), users_(graph), last_write_(last_writes(graph)) {}

  // The tensor that a cat could be a view of; none() if it is a true copy.
  NodeId source(NodeId cat) const {
    if (!is_op(graph_, cat, "aten.cat.default")) return NodeId::none();
    const auto parts = parts_of(cat);
    if (parts.empty() || !next_to_communication(cat, parts)) return NodeId::none();
    const NodeId whole = graph_.inputs(parts[0])[0];
    const NodeId source = graph_.args(whole).empty() || !graph_.args(whole)[0].is(ArgKind::value)
                              ? NodeId::none()
                              : graph_.args(whole)[0].as_node();
    if (!source.valid() || graph_.outputs(source).size() != 1 || graph_.node(source).multi) return NodeId::none();
    return same_bytes(cat, parts, source) && never_written_again(cat, source) ? source : NodeId::none();
  }

 private:
  // The arguments of a cat, if they are the results of one node in one storage.
  std::vector<NodeId> parts_of(NodeId cat) const {
    const auto args = graph_.args(cat);
    if (args.empty() || !args[0].is(ArgKind::list)) return {};
    std::vector<NodeId> parts;
    for (const Arg& arg : graph_.pool().elements(args[0])) {
      if (!arg.is(ArgKind::value)) return {};
      const NodeId part = arg.as_node();
      if (!is_getitem(graph_, part) || graph_.outputs(part).size() != 1 || graph_.inputs(part).size() != 1) return {};
      if (!parts.empty() && graph_.inputs(part)[0] != graph_.inputs(parts[0])[0]) return {};
      parts.push_back(part);
    }
    return parts;
  }

  bool next_to_communication(NodeId cat, const std::vector<NodeId>& parts) const {
    for (const NodeId user : users_.of(cat)) {
      if (graph_.node(user).kind == NodeKind::output) return false;  // results stay apart from what they are made of
      if (graph_.collective(user) != nullptr) return true;
    }
    const NodeId whole = graph_.inputs(parts[0])[0];
    return std::any_of(graph_.inputs(whole).begin(), graph_.inputs(whole).end(),
                       [&](NodeId input) { return graph_.node(input).wait_of.valid(); });
  }

  bool same_bytes(NodeId cat, const std::vector<NodeId>& parts, NodeId source) const {
    const Output& result = graph_.outputs(cat)[0];
    const Output& from = graph_.outputs(source)[0];
    if (!is_static(graph_, result) || !is_static(graph_, from)) return false;
    const TypeView type = graph_.type(result);
    const TypeView from_type = graph_.type(from);
    const auto strides = dense_strides(type.shape);
    if (type.dtype != from_type.dtype || elements(type) != elements(from_type) || !is_contiguous(type) ||
        !is_contiguous(from_type))
      return false;
    const auto args = graph_.args(cat);
    std::int64_t dim = args.size() > 1 && args[1].is(ArgKind::integer) ? args[1].as_integer() : 0;
    if (dim < 0) dim += static_cast<std::int64_t>(type.shape.size());
    if (dim < 0 || dim >= static_cast<std::int64_t>(type.shape.size())) return false;
    std::int64_t at = from.offset.value();
    for (const NodeId part : parts) {
      const Output& output = graph_.outputs(part)[0];
      if (!is_static(graph_, output) || output.storage != from.storage || output.offset.value() != at) return false;
      const TypeView part_type = graph_.type(output);
      if (part_type.shape.size() != strides.size() || !has_strides(part_type, strides)) return false;
      at += part_type.shape[static_cast<std::size_t>(dim)].value() * strides[static_cast<std::size_t>(dim)];
    }
    return true;
  }

  bool never_written_again(NodeId cat, NodeId source) const {
    const auto last = [&](NodeId id) { return last_write_[graph_.outputs(id)[0].storage.index()]; };
    return !last(cat).valid() && (!last(source).valid() || last(source) < cat);
  }

  const Graph& graph_;
  Users users_;
  std::vector<NodeId> last_write_;  // by storage
};

// The parts, and what takes them apart, go where nobody else uses them.
std::vector<bool> without_users(const Graph& graph, const std::map<NodeId, NodeId>& replaced) {
  const Users users(graph);
  std::vector<bool> gone(graph.size(), false);
  std::vector<bool> needed(graph.size(), false);
  for (const auto& [cat, source] : replaced) {
    gone[cat.index()] = true;
    needed[source.index()] = true;
  }
  for (std::size_t i = graph.size(); i-- > 0;) {
    const NodeId id(i);
    const auto uses = users.of(id);
    if (needed[i] || uses.empty() || graph.node(id).kind != NodeKind::op || !graph.node(id).view_of.valid()) continue;
    if (std::all_of(uses.begin(), uses.end(), [&](NodeId use) { return gone[use.index()]; })) gone[i] = true;
  }
  return gone;
}

}  // namespace

Result<RewriteResult> copies_to_views(const Graph& graph, const CopiesToViewsOptions&) {
  const Finder finder(graph);
  std::map<NodeId, NodeId> replaced;
  for (std::size_t i = 0; i < graph.size(); ++i) {
    if (const NodeId source = finder.source(NodeId(i)); source.valid()) replaced.emplace(NodeId(i), source);
  }
  RewriteResult result;
  result.report =
      fmt::format("{} cop{} of what lies together already", replaced.size(), replaced.size() == 1 ? "y" : "ies");
  if (replaced.empty()) return result;
  const std::vector<bool> gone = without_users(graph, replaced);
  GraphRewriter rewriter(graph);
  for (std::size_t i = 0; i < graph.size(); ++i) {
    const NodeId id(i);
    if (const auto found = replaced.find(id); found != replaced.end()) {
      std::vector<ArgInit> sizes;
      for (const Dim size : graph.type(graph.outputs(id)[0]).shape) sizes.emplace_back(size.value());
      const NodeId view = rewriter.op("aten.view", {rewriter.now(found->second), ArgInit(std::move(sizes))},
                                      fmt::format("{}_view", graph.name(id)));
      if (view.valid()) rewriter.set_time(view, Nanoseconds());
      rewriter.replace(id, view);
    } else if (!gone[i]) {
      rewriter.copy(id);
    }
  }
  HOCKET_TRY(result.graph, rewriter.finish());
  return result;
}

}  // namespace hocket
