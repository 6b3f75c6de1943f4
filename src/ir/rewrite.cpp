#include "hocket/ir/rewrite.h"

#include <fmt/format.h>

#include <algorithm>

#include "ir/node_facts.h"

namespace hocket {
namespace {

OutputSpec spec_of(const TypeView& type, Dim offset, std::string_view device) {
  OutputSpec spec;
  spec.dtype = type.dtype;
  spec.shape.assign(type.shape.begin(), type.shape.end());
  spec.strides.emplace(type.strides.begin(), type.strides.end());
  spec.offset = offset;
  spec.device = std::string(device);
  return spec;
}

}  // namespace

GraphRewriter::GraphRewriter(const Graph& from)
    : from_(from),
      builder_(std::string(from.name()), from.op_table()),
      now_(from.size(), NodeId::none()),
      moved_(from.size(), false) {
  builder_.reserve(from.size());
  builder_.world(from.world_size(), from.rank());
  for (const auto& [key, json] : from.meta()) builder_.meta(key, json);
  for (const Group& group : from.groups()) builder_.group(group.name, group.ranks);
  builder_.symbols() = from.symbols();
  builder_.pool().strings = from.pool().strings;  // so that texts keep their ids
}

void GraphRewriter::fail_with(std::string message, NodeId old) {
  if (!error_) {
    error_ = Error{ErrorKind::internal, std::move(message), fmt::format("rewriting node {}", from_.name(old))};
  }
}

Arg GraphRewriter::mapped(const Arg& arg, NodeId user) {
  if (arg.is(ArgKind::value)) {
    const NodeId by = now(arg.as_node());
    if (!by.valid()) fail_with(fmt::format("uses {}, which is not there yet", from_.name(arg.as_node())), user);
    return Arg::value(by);
  }
  if (!arg.is(ArgKind::list) && !arg.is(ArgKind::dict)) return arg;
  std::vector<Arg> elements;
  for (const Arg& element : from_.pool().elements(arg)) elements.push_back(mapped(element, user));
  return arg.is(ArgKind::list) ? builder_.list(elements) : builder_.dict(elements);
}

bool GraphRewriter::joins_inputs(NodeId old) const {
  std::vector<NodeId> inputs;
  for (const NodeId input : from_.inputs(old)) inputs.push_back(now(input));
  std::sort(inputs.begin(), inputs.end());
  return std::adjacent_find(inputs.begin(), inputs.end()) != inputs.end();
}

NodeId GraphRewriter::copy(NodeId old) {
  if (error_ || builder_.error()) return NodeId::none();  // the first mistake counts, not what follows from it
  if (now(old).valid()) {
    fail_with("is there already", old);
    return NodeId::none();
  }
  return add_copy(old, from_.name(old));
}

NodeId GraphRewriter::copy_again(NodeId old, std::string_view name) {
  if (error_ || builder_.error()) return NodeId::none();
  if (!now(old).valid()) {
    fail_with("is not there yet", old);
    return NodeId::none();
  }
  moved_[old.index()] = true;
  return add_copy(old, unique_name(name));
}

NodeId GraphRewriter::add_copy(NodeId old, std::string_view name) {
  const Node& node = from_.node(old);
  NodeSpec spec;
  spec.name = name;
  spec.kind = node.kind;
  if (node.kind == NodeKind::op) spec.op = from_.op_name(old);
  args_.clear();
  for (const Arg& arg : from_.args(old)) args_.push_back(mapped(arg, old));
  keywords_.clear();
  for (const Keyword& keyword : from_.keywords(old)) keywords_.push_back({keyword.key, mapped(keyword.value, old)});
  if (error_) return NodeId::none();
  spec.args = args_;
  spec.keywords = keywords_;
  spec.multi = node.multi;
  spec.gemm = node.gemm;
  spec.integer = from_.integer(old);
  spec.measured = node.measured;
  spec.extra = from_.extra(old);
  const auto* collective = from_.collective(old);
  // What was two inputs and is one now is taken once: the operator table counts the bytes anew.
  if (collective == nullptr || !joins_inputs(old)) {
    spec.collective = collective == nullptr ? std::nullopt : std::optional(*collective);
  }
  mutates_.clear();
  for (const NodeId id : from_.mutates(old)) mutates_.push_back(now(id));
  spec.mutates = mutates_;
  // Whether a wait has a collective is the old graph's word while the awaited node is a copy of what it was.
  if (!node.wait_of.valid()) {
    spec.wait_of = NodeId::none();
  } else if (now(node.wait_of).valid() && graph().collective(now(node.wait_of)) != nullptr) {
    spec.wait_of = now(node.wait_of);
  }

  outputs_.clear();
  const bool follows = node.view_of.valid() && moved(node.view_of);
  spec.view_of = node.view_of.valid() ? now(node.view_of) : NodeId::none();
  if (follows) {
    moved_[old.index()] = true;
    const NodeId base = now(node.view_of);
    if (const std::optional<OutputSpec> type = type_beside(old, base)) {
      outputs_.push_back(*type);
      spec.outputs = outputs_;
    } else {
      spec.infer = true;
    }
    if (!graph().outputs(base).empty()) {
      builder_.default_device(std::string(graph().device(graph().outputs(base)[0].device)));
    }
  } else {
    for (const Output& output : from_.outputs(old)) {
      OutputSpec copied = spec_of(from_.type(output), output.offset, from_.device(output.device));
      copied.storage_bytes = from_.storage(output.storage).bytes;
      if (!moved(old)) copied.storage_key = output.storage.index();
      outputs_.push_back(std::move(copied));
    }
    spec.outputs = outputs_;
  }
  const NodeId added = builder_.add(spec);
  now_[old.index()] = added;
  return added;
}

std::optional<OutputSpec> GraphRewriter::type_beside(NodeId old, NodeId base) const {
  const OpSpec* row = from_.op_table().find(from_.op_name(old));
  if (row != nullptr && row->shape != nullptr) return std::nullopt;
  const std::span<const Output> views = from_.outputs(old);
  const std::span<const Output> olds = from_.outputs(from_.node(old).view_of);
  const std::span<const Output> news = graph().outputs(base);
  if (views.size() != 1 || olds.size() != 1 || news.size() != 1) return std::nullopt;
  const TypeView view = from_.type(views[0]);
  const TypeView was = from_.type(olds[0]);
  const TypeView is = graph().type(news[0]);
  const bool is_the_base = same_type(view, was) && views[0].offset == olds[0].offset;
  const Dim place[] = {views[0].offset, olds[0].offset, news[0].offset};
  if (!is_the_base && !(same_type(was, is) && all_static(place))) return std::nullopt;
  const Dim offset = is_the_base ? place[2] : Dim(place[2].value() + place[0].value() - place[1].value());
  OutputSpec moved = spec_of(is_the_base ? is : view, offset, graph().device(news[0].device));
  moved.shares = {base, 0};
  return moved;
}

void GraphRewriter::replace(NodeId old, NodeId by) {
  if (error_ || builder_.error()) return;
  if (!by.valid() || by.index() >= graph().size()) return fail_with("replaced by a node that is not there", old);
  now_[old.index()] = by;
  moved_[old.index()] = true;
}

NodeId GraphRewriter::op(std::string_view op, const std::vector<ArgInit>& args, std::string_view name,
                         const std::vector<std::pair<std::string, ArgInit>>& keywords,
                         std::vector<OutputSpec> outputs) {
  if (error_ || builder_.error()) return NodeId::none();
  const std::optional<std::string> device = builder_.device_of(args);
  if (device) builder_.default_device(*device);
  return builder_.op(op, args, unique_name(name), keywords, std::move(outputs));
}

void GraphRewriter::set_time(NodeId node, Nanoseconds time) {
  if (error_ || builder_.error()) return;
  Measured measured = graph().node(node).measured;
  measured.picoseconds = time.picoseconds;
  builder_.set_measured(node, measured);
}

std::string GraphRewriter::unique_name(std::string_view wanted) {
  if (names_.empty()) {
    names_.reserve(from_.size());
    for (std::size_t i = 0; i < from_.size(); ++i) names_.insert(from_.name(NodeId(i)));
  }
  std::string& name = new_names_.emplace_back(wanted);
  for (int count = 1; names_.contains(name); ++count) name = fmt::format("{}_{}", wanted, count);
  names_.insert(name);
  return name;
}

Result<Graph> GraphRewriter::finish() {
  if (error_) return fail(*error_);
  return builder_.finish();
}

Result<Graph> with_order(const Graph& graph, std::span<const NodeId> order) {
  if (order.size() != graph.size()) {
    return fail(ErrorKind::internal, "an order of {} nodes for a graph of {}", order.size(), graph.size());
  }
  GraphRewriter rewriter(graph);
  for (const NodeId id : order) {
    if (id.index() >= graph.size()) return fail(ErrorKind::internal, "an order with a node that does not exist");
    rewriter.copy(id);
  }
  return rewriter.finish();
}

}  // namespace hocket
