#include "torch/recording.h"

#include <algorithm>
#include <unordered_set>

namespace hocket {

namespace {

// "aten.add.Tensor" -> "add"
std::string stem_of(std::string_view op) {
  const std::size_t first = op.find('.');
  if (first == std::string_view::npos) return std::string(op);
  return std::string(op.substr(first + 1, op.find('.', first + 1) - first - 1));
}

class Names {
 public:
  // The name itself, or with the first free of _1, _2, …
  std::string unique(const std::string& wanted) {
    std::string name = wanted;
    int& next = next_[wanted];
    while (!taken_.insert(name).second) name = fmt::format("{}_{}", wanted, ++next);
    return name;
  }

 private:
  std::unordered_set<std::string> taken_;
  std::unordered_map<std::string, int> next_;
};

// Adds records to a graph, under their new numbers.
class Emitter {
 public:
  Emitter(const ArgPool& from, GraphBuilder& to, std::vector<NodeId>& ids) : from_(from), to_(to), ids_(ids) {}

  void emit(const Record& record, NodeId& id, std::string_view name) {
    std::vector<Arg> args;
    for (const Arg& arg : record.args) args.push_back(translated(arg));
    std::vector<Keyword> keywords;
    for (const Keyword& keyword : record.keywords) {
      keywords.push_back({to_.key(from_.strings[keyword.key]), translated(keyword.value)});
    }
    NodeSpec node;
    node.name = name;
    node.kind = record.kind;
    node.op = record.op;
    node.args = args;
    node.keywords = keywords;
    node.outputs = record.outputs;
    node.multi = record.multi;
    if (record.view_of) node.view_of = record.view_of->valid() ? ids_[record.view_of->index()] : NodeId::none();
    std::vector<NodeId> mutates;
    if (record.mutates) {
      for (const NodeId mutated : *record.mutates) mutates.push_back(ids_[mutated.index()]);
      node.mutates = std::span<const NodeId>(mutates);
    }
    id = to_.add(node);
  }

 private:
  Arg translated(const Arg& arg) {
    switch (arg.kind()) {
      case ArgKind::value: return Arg::value(ids_[arg.as_node().index()]);
      case ArgKind::string:
      case ArgKind::device:
      case ArgKind::layout:
      case ArgKind::memory_format: return to_.text(arg.kind(), from_.text(arg));
      case ArgKind::list: {
        std::vector<Arg> elements;
        for (const Arg& element : from_.elements(arg)) elements.push_back(translated(element));
        return to_.list(elements);
      }
      default: return arg;
    }
  }

  const ArgPool& from_;
  GraphBuilder& to_;
  std::vector<NodeId>& ids_;
};

}  // namespace

NodeId Recording::add(Record record) {
  records_.push_back(std::move(record));
  return NodeId(records_.size() - 1);
}

Result<GroupId> Recording::group(const GroupSpec& spec) {
  std::vector<Rank> ranks;
  for (const int rank : spec.ranks) ranks.push_back(Rank{rank});
  for (std::size_t i = 0; i < groups_.size(); ++i) {
    if (groups_[i].name != spec.name) continue;
    if (groups_[i].ranks == ranks) return GroupId(i);
    return fail(ErrorKind::usage, "group {} has {} ranks here and other ones before ({}); give each group its own name",
                spec.name, ranks.size(), groups_[i].ranks.size());
  }
  if (spec.name.empty() || ranks.empty()) return fail(ErrorKind::usage, "a group needs a name and at least one rank");
  groups_.push_back({spec.name, std::move(ranks)});
  return GroupId(groups_.size() - 1);
}

Result<GroupId> Recording::find_group(std::string_view name) const {
  std::vector<std::string_view> known;
  for (std::size_t i = 0; i < groups_.size(); ++i) {
    if (groups_[i].name == name) return GroupId(i);
    known.push_back(groups_[i].name);
  }
  return fail(ErrorKind::usage, "unknown group {}; known: {}; declare it in CaptureOptions::groups", name,
              known.empty() ? "none" : fmt::format("{}", fmt::join(known, ", ")));
}

Result<Outputs> Recording::infer(std::string_view op, const std::vector<Arg>& args,
                                 const std::vector<Keyword>& keywords) {
  const OpSpec* row = OpTable::builtin().find(op);
  if (row == nullptr || row->shape == nullptr)
    return fail(ErrorKind::input, "the operator table has no shape function for it");
  return row->shape(Call(pool_, args, keywords, *this, symbols_));
}

TypeView Recording::output(Arg value, std::size_t index) const {
  const OutputSpec& output = (*this)[value.as_node()].outputs[index];
  return {output.dtype, output.shape, *output.strides, output.offset};
}

std::int64_t Recording::group_size(GroupId group) const {
  return static_cast<std::int64_t>(groups_[group.index()].ranks.size());
}

std::vector<bool> Recording::used() const {
  std::vector<bool> used(records_.size());
  for (std::size_t i = records_.size(); i-- > 0;) {
    const Record& record = records_[i];
    if (!record.only_if_used) used[i] = true;
    if (!used[i]) continue;
    const auto use = [&](const Arg& value) { used[value.as_node().index()] = true; };
    for (const Arg& arg : record.args) pool_.for_each_value(arg, use);
    for (const Keyword& keyword : record.keywords) pool_.for_each_value(keyword.value, use);
  }
  return used;
}

Result<Capture> Recording::finish(const CaptureOptions& options) const {
  GraphBuilder builder(options.name);
  builder.default_device(options.device);
  if (options.world_size >= 0) builder.world(options.world_size, options.rank);
  for (const Group& group : groups_) builder.group(group.name, group.ranks);

  const std::vector<bool> is_used = used();
  std::vector<NodeId> ids(records_.size());
  Emitter emitter(pool_, builder, ids);
  Names names;
  std::vector<NamedTensor> attributes;
  for (std::size_t i = 0; i < records_.size(); ++i) {
    if (!is_used[i]) continue;
    const Record& record = records_[i];
    const std::string name = names.unique(record.kind == NodeKind::op ? stem_of(record.op) : record.name);
    if (record.kind == NodeKind::attribute) attributes.emplace_back(name, record.tensor);
    emitter.emit(record, ids[i], name);
  }
  HOCKET_TRY(Graph graph, builder.finish());
  return Capture{std::move(graph), std::move(attributes)};
}

}  // namespace hocket
