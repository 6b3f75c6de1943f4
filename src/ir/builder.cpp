#include "hocket/ir/builder.h"

#include <algorithm>
#include <unordered_set>

#include "ir/effects.h"

namespace hocket {

namespace {

// Namespaces whose operators have no overloads in captures: "hop.flex_attention" is a whole name.
constexpr std::string_view without_overloads[] = {"_operator", "torch", "hop", "math"};
constexpr std::string_view default_overload = ".default";
constexpr std::size_t max_nodes = std::size_t{1} << 27;

bool takes_default(std::string_view name) {
  const std::size_t dot = name.find('.');
  if (dot == std::string_view::npos || dot == 0 || dot + 1 == name.size() ||
      name.find('.', dot + 1) != std::string_view::npos)
    return false;
  return std::find(std::begin(without_overloads), std::end(without_overloads), name.substr(0, dot)) ==
         std::end(without_overloads);
}

}  // namespace

std::string full_op_name(std::string_view name) {
  return takes_default(name) ? std::string(name) + std::string(default_overload) : std::string(name);
}

std::optional<std::string_view> short_op_name(std::string_view full) {
  if (takes_default(full)) return std::nullopt;
  if (full.ends_with(default_overload)) {
    const std::string_view name = full.substr(0, full.size() - default_overload.size());
    if (takes_default(name)) return name;
  }
  return full;
}

GraphBuilder::GraphBuilder(std::string name, const OpTable& table) : tables_(graph_, table) {
  graph_.name_ = std::move(name);
}

void GraphBuilder::fail_with(Error error) {
  if (!error_) error_ = std::move(error);
}

GroupId GraphBuilder::group(std::string name, std::vector<Rank> ranks) {
  if (find_group(name)) {
    fail_with({ErrorKind::input, fmt::format("group @{} is declared twice", name), {}});
    return GroupId::none();
  }
  return tables_.group({std::move(name), std::move(ranks)});
}

GroupId GraphBuilder::group(std::string name, std::initializer_list<int> ranks) {
  std::vector<Rank> list;
  for (const int rank : ranks) list.push_back(Rank{rank});
  return group(std::move(name), std::move(list));
}

void GraphBuilder::default_device(std::string device) { default_device_ = std::move(device); }

void GraphBuilder::world(std::int64_t size, std::int64_t rank) {
  graph_.world_size_ = size;
  graph_.rank_ = rank;
}

void GraphBuilder::meta(std::string key, std::string json) {
  graph_.meta_.emplace_back(std::move(key), std::move(json));
}

void GraphBuilder::reserve(std::size_t nodes) {
  graph_.nodes_.reserve(nodes);
  said_.reserve(nodes);
}

NodeId GraphBuilder::input(std::string_view name, Dtype dtype, std::vector<Dim> shape) {
  OutputSpec output;
  output.dtype = dtype;
  output.shape = std::move(shape);
  NodeSpec node;
  node.name = name;
  node.kind = NodeKind::input;
  node.outputs = std::span(&output, 1);
  used_names_.emplace(name);
  return add(node);
}

Arg GraphBuilder::resolve(const ArgInit& init) {
  if (init.text_) return string(*init.text_);
  if (!init.is_list_) return init.arg_;
  std::vector<Arg> elements;
  for (const ArgInit& element : init.list_) elements.push_back(resolve(element));
  return list(elements);
}

NodeId GraphBuilder::op(std::string_view op, std::initializer_list<ArgInit> args, std::string_view name,
                        std::initializer_list<std::pair<const char*, ArgInit>> keywords) {
  std::vector<std::pair<std::string, ArgInit>> named;
  for (const auto& [key, value] : keywords) named.emplace_back(key, value);
  return this->op(op, std::vector<ArgInit>(args), name, named);
}

NodeId GraphBuilder::op(std::string_view op, const std::vector<ArgInit>& args, std::string_view name,
                        const std::vector<std::pair<std::string, ArgInit>>& keywords, std::vector<OutputSpec> outputs) {
  std::vector<Arg> positional;
  for (const ArgInit& arg : args) positional.push_back(resolve(arg));
  std::vector<Keyword> named;
  for (const auto& [keyword, value] : keywords) named.push_back({key(keyword), resolve(value)});
  const std::string full = full_op_name(op);
  const std::string own_name = name.empty() ? unique_name(full) : std::string(name);
  used_names_.insert(own_name);
  NodeSpec node;
  node.name = own_name;
  node.op = full;
  node.args = positional;
  node.keywords = named;
  node.outputs = outputs;
  node.infer = outputs.empty();
  node.multi = outputs.size() > 1;
  return add(node);
}

std::optional<std::string> GraphBuilder::device_of(const std::vector<ArgInit>& args) const {
  for (const ArgInit& arg : args) {
    if (arg.is_list_) {
      if (auto device = device_of(arg.list_)) return device;
    } else if (arg.arg_.is(ArgKind::value) && arg.arg_.as_node().index() < graph_.size()) {
      const auto outputs = graph_.outputs(arg.arg_.as_node());
      if (!outputs.empty()) return std::string(graph_.device(outputs[0].device));
    }
  }
  return std::nullopt;
}

NodeId GraphBuilder::getitem(NodeId list, std::int64_t index, std::string_view name) {
  return op("getitem", {list, index}, name);
}

void GraphBuilder::output(const std::vector<NodeId>& results) {
  std::vector<Arg> args;
  for (const NodeId result : results) args.push_back(Arg::value(result));
  NodeSpec node;
  node.name = "output";
  node.kind = NodeKind::output;
  node.args = args;
  add(node);
}

std::string GraphBuilder::unique_name(std::string_view op) {
  // "aten.add.Tensor" -> add, add_1, …
  const std::size_t dot = op.find('.');
  std::string stem(dot == std::string_view::npos ? op : op.substr(dot + 1));
  stem = stem.substr(0, stem.find('.'));
  std::string name;
  do {
    const int count = name_counts_[stem]++;
    name = count == 0 ? stem : fmt::format("{}_{}", stem, count);
  } while (used_names_.contains(name));
  return name;
}

Status GraphBuilder::infer_outputs(const NodeSpec& node, std::vector<OutputSpec>& outputs) {
  const OpSpec* spec = graph_.table_->find(node.op);
  if (spec == nullptr) {
    const std::string_view near = graph_.table_->nearest(node.op);
    return fail(ErrorKind::input, "operator {} is not in the operator table{}; give the types of its results", node.op,
                near.empty() ? "" : fmt::format(" (did you mean {}?)", short_op_name(near).value_or(near)));
  }
  if (spec->shape == nullptr) {
    return fail(ErrorKind::input, "operator {} has no shape function; give the types of its results", node.op);
  }
  Status known;
  const auto check = [&](const Arg& value) {
    if (value.as_node().index() >= graph_.size() && known) {
      known = fail(ErrorKind::input, "the type of an argument of {} is not known yet; give the types of its results",
                   node.op);
    }
  };
  for (const Arg& arg : node.args) graph_.pool_.for_each_value(arg, check);
  for (const Keyword& keyword : node.keywords) graph_.pool_.for_each_value(keyword.value, check);
  HOCKET_CHECK(known);
  const GraphValues values(graph_);
  const Call call(graph_.pool_, node.args, node.keywords, values, graph_.symbols_);
  HOCKET_TRY(const Outputs inferred, spec->shape(call));
  for (const InferredType& type : inferred) {
    OutputSpec output;
    output.dtype = type.dtype;
    output.shape = type.shape.dims;
    output.strides = type.strides.dims;
    output.offset = type.offset;
    outputs.push_back(std::move(output));
  }
  return {};
}

NodeId GraphBuilder::add(const NodeSpec& spec) {
  if (error_) return NodeId::none();
  const NodeId id(graph_.nodes_.size());
  if (id.index() >= max_nodes) {
    fail_with({ErrorKind::input, fmt::format("more than {} nodes", max_nodes), {}});
    return NodeId::none();
  }
  std::vector<OutputSpec> inferred;
  std::span<const OutputSpec> outputs = spec.outputs;
  Node node;
  if (spec.infer) {
    if (auto status = infer_outputs(spec, inferred); !status) {
      fail_with(at(std::move(status).error(), fmt::format("node {}", spec.name)));
      return NodeId::none();
    }
    outputs = inferred;
  }
  node.name = graph_.pool_.strings.add(spec.name);
  node.kind = spec.kind;
  if (spec.kind == NodeKind::op) node.op = tables_.op(spec.op);
  node.multi = spec.multi || (spec.infer && (inferred.size() > 1 || graph_.table_->find(spec.op)->list_result));
  node.gemm = spec.gemm;
  node.has_integer = spec.integer.has_value();
  node.integer = spec.integer.value_or(0);
  node.measured = spec.measured;

  node.inputs.begin = static_cast<std::uint32_t>(graph_.node_lists_.size());
  std::unordered_set<std::uint32_t> seen_many;
  const auto note_input = [&](const Arg& value) {
    constexpr std::size_t few = 16;  // below this a linear look is faster than a hash
    auto& pool = graph_.node_lists_;
    const auto begin = pool.begin() + node.inputs.begin;
    const std::size_t count = pool.size() - node.inputs.begin;
    if (count < few) {
      if (std::find(begin, pool.end(), value.as_node()) != pool.end()) return;
    } else {
      if (seen_many.empty()) {
        for (auto known = begin; known != pool.end(); ++known) seen_many.insert(known->value);
      }
      if (!seen_many.insert(value.as_node().value).second) return;
    }
    pool.push_back(value.as_node());
  };
  for (const Arg& arg : spec.args) graph_.pool_.for_each_value(arg, note_input);
  for (const Keyword& keyword : spec.keywords) graph_.pool_.for_each_value(keyword.value, note_input);
  node.inputs.count = static_cast<std::uint32_t>(graph_.node_lists_.size()) - node.inputs.begin;
  node.args = graph_.pool_.add(spec.args);
  node.keywords = graph_.pool_.add(spec.keywords);

  Said said;
  said.view_of = spec.view_of.has_value();
  node.view_of = spec.view_of.value_or(NodeId::none());
  said.wait_of = spec.wait_of.has_value();
  node.wait_of = spec.wait_of.value_or(NodeId::none());
  said.mutates = spec.mutates.has_value();
  if (spec.mutates) {
    node.mutates = {static_cast<std::uint32_t>(graph_.node_lists_.size()),
                    static_cast<std::uint32_t>(spec.mutates->size())};
    graph_.node_lists_.insert(graph_.node_lists_.end(), spec.mutates->begin(), spec.mutates->end());
  }
  said.collective = spec.collective.has_value();
  if (spec.collective && *spec.collective) {
    node.collective = static_cast<std::uint32_t>(graph_.collectives_.size());
    graph_.collectives_.push_back(**spec.collective);
  }
  if (!spec.extra.empty()) graph_.extras_.emplace_back(id, graph_.pool_.strings.add(spec.extra));

  node.outputs = {static_cast<std::uint32_t>(graph_.outputs_.size()), static_cast<std::uint32_t>(outputs.size())};
  for (const OutputSpec& output : outputs) {
    std::optional<Strides> dense;
    if (!output.strides) dense = contiguous_strides(output.shape, graph_.symbols_);
    if (!output.strides && !dense) {
      fail_with({ErrorKind::input, "sizes whose product has no representation; give the strides",
                 fmt::format("node {}", spec.name)});
      return NodeId::none();
    }
    const std::vector<Dim>& strides = output.strides ? *output.strides : dense->dims;
    if (strides.size() != output.shape.size()) {
      fail_with({ErrorKind::input, fmt::format("{} sizes but {} strides", output.shape.size(), strides.size()),
                 fmt::format("node {}", spec.name)});
      return NodeId::none();
    }
    Output record;
    record.type = tables_.type(output.dtype, output.shape, strides);
    record.device = tables_.device(output.device ? *output.device : default_device_);
    record.offset = output.offset;
    graph_.outputs_.push_back(record);
    PendingOutput pending;
    pending.storage_key = output.storage_key;
    if (output.shares) {
      pending.shares_node = output.shares->first;
      pending.shares_index = static_cast<std::uint32_t>(output.shares->second);
    }
    pending.storage_bytes = output.storage_bytes;
    pending_outputs_.push_back(pending);
  }
  graph_.nodes_.push_back(node);
  said_.push_back(said);
  return id;
}

Status GraphBuilder::check_references() const {
  for (std::size_t i = 0; i < graph_.size(); ++i) {
    const NodeId id(i);
    const auto check = [&](NodeId reference) -> Status {
      if (reference.index() < graph_.size()) return {};
      return fail(Error{ErrorKind::input,
                        fmt::format("refers to a node that does not exist; there are {}", graph_.size()),
                        fmt::format("node {}", graph_.name(id))});
    };
    for (const NodeId input : graph_.inputs(id)) HOCKET_CHECK(check(input));
    for (const NodeId mutated : graph_.mutates(id)) HOCKET_CHECK(check(mutated));
    const Node& node = graph_.node(id);
    if (node.view_of.valid()) HOCKET_CHECK(check(node.view_of));
    if (node.wait_of.valid()) HOCKET_CHECK(check(node.wait_of));
  }
  for (const PendingOutput& output : pending_outputs_) {
    if (output.shares_node.valid() && (output.shares_node.index() >= graph_.size() ||
                                       output.shares_index >= graph_.outputs(output.shares_node).size())) {
      return fail(ErrorKind::input, "an output shares the storage of an output that does not exist");
    }
  }
  return {};
}

void GraphBuilder::resolve_effects() {
  for (std::size_t i = 0; i < graph_.size(); ++i) {
    Node& node = graph_.nodes_[i];
    const Said said = said_[i];
    if (node.kind != NodeKind::op || (said.view_of && said.mutates && said.collective)) continue;
    const CallEffects effects = effects_by_row(graph_, NodeId(i));
    if (!said.view_of) node.view_of = effects.view_of;
    if (!said.mutates && !effects.mutates.empty()) {
      node.mutates = {static_cast<std::uint32_t>(graph_.node_lists_.size()),
                      static_cast<std::uint32_t>(effects.mutates.size())};
      graph_.node_lists_.insert(graph_.node_lists_.end(), effects.mutates.begin(), effects.mutates.end());
    }
    if (!said.collective && effects.collective) {
      node.collective = static_cast<std::uint32_t>(graph_.collectives_.size());
      graph_.collectives_.push_back(*effects.collective);
    }
  }
  for (std::size_t i = 0; i < graph_.size(); ++i) {
    const OpSpec* spec = graph_.op_spec(NodeId(i));
    if (spec != nullptr && spec->effects.waits && !said_[i].wait_of)
      graph_.nodes_[i].wait_of = awaited_by(graph_, NodeId(i));
  }
}

// Every output either names the output that it shares storage with, or a key, or stands for itself. Following those
// names leads to a root; each root is one storage. Names in a circle (a malformed program) end where they began.
void GraphBuilder::resolve_storages() {
  const std::size_t count = graph_.outputs_.size();
  constexpr std::uint32_t itself = 0xffffffff;
  std::vector<std::uint32_t> parent(count, itself);
  std::unordered_map<std::uint64_t, std::uint32_t> first_of_key;
  for (std::size_t i = 0; i < graph_.size(); ++i) {
    const NodeId id(i);
    const Range range = graph_.nodes_[i].outputs;
    for (std::uint32_t k = 0; k < range.count; ++k) {
      const std::uint32_t at = range.begin + k;
      const PendingOutput& pending = pending_outputs_[at];
      if (pending.storage_key) {
        const auto [entry, is_new] = first_of_key.try_emplace(*pending.storage_key, at);
        if (!is_new) parent[at] = entry->second;
      } else if (pending.shares_node.valid()) {
        parent[at] = graph_.node(pending.shares_node).outputs.begin + pending.shares_index;
      } else if (graph_.nodes_[i].view_of.valid()) {
        const OutputRef shared = shared_output(graph_, id, k);
        if (shared.node.valid())
          parent[at] = graph_.node(shared.node).outputs.begin + static_cast<std::uint32_t>(shared.index);
      }
    }
  }
  std::vector<std::uint32_t> root(count, itself);
  std::vector<std::uint32_t> path;
  std::vector<bool> on_path(count, false);
  for (std::uint32_t start = 0; start < count; ++start) {
    std::uint32_t at = start;
    path.clear();
    while (root[at] == itself && parent[at] != itself && !on_path[at]) {
      on_path[at] = true;
      path.push_back(at);
      at = parent[at];
    }
    const std::uint32_t found = root[at] == itself ? at : root[at];
    root[at] = found;
    for (const std::uint32_t step : path) {
      root[step] = found;
      on_path[step] = false;
    }
  }
  std::vector<StorageId> storage_of(count);
  std::vector<bool> bytes_said;
  for (std::size_t i = 0; i < graph_.size(); ++i) {
    const Range range = graph_.nodes_[i].outputs;
    for (std::uint32_t at = range.begin; at < range.begin + range.count; ++at) {
      StorageId& storage = storage_of[root[at]];
      if (!storage.valid()) {
        storage = StorageId(graph_.storages_.size());
        graph_.storages_.push_back({Dim(0), NodeId(i)});
        bytes_said.push_back(false);
      }
      graph_.outputs_[at].storage = storage;
      Storage& record = graph_.storages_[storage.index()];
      if (pending_outputs_[at].storage_bytes) {
        record.bytes = *pending_outputs_[at].storage_bytes;
        bytes_said[storage.index()] = true;
      } else if (!bytes_said[storage.index()]) {
        record.bytes = farther_reach(record.bytes, graph_.type(graph_.outputs_[at]), graph_.symbols_);
      }
    }
  }
}

Result<Graph> GraphBuilder::finish() {
  if (error_) return fail(*error_);
  HOCKET_CHECK(check_references());
  resolve_effects();
  resolve_storages();
  graph_.nodes_.shrink_to_fit();
  graph_.node_lists_.shrink_to_fit();
  graph_.outputs_.shrink_to_fit();
  graph_.collectives_.shrink_to_fit();
  graph_.storages_.shrink_to_fit();
  graph_.pool_.args.shrink_to_fit();
  graph_.pool_.keywords.shrink_to_fit();
  return std::move(graph_);
}

}  // namespace hocket
