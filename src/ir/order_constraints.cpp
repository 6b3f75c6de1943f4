#include "hocket/ir/order_constraints.h"

#include <algorithm>

namespace hocket {

namespace {

using Pairs = std::vector<std::pair<NodeId, NodeId>>;

// The pairs of one graph, found in one walk. Per storage it keeps the last write, the accesses since, and the last wait.
class PairFinder {
 public:
  explicit PairFinder(const Graph& graph)
      : graph_(graph),
        last_write_(graph.storages().size()),
        accesses_(graph.storages().size()),
        last_wait_(graph.storages().size()) {}

  Pairs run() {
    for (std::size_t i = 0; i < graph_.size(); ++i) {
      const NodeId id(i);
      const auto first = static_cast<std::ptrdiff_t>(pairs_.size());
      for (const NodeId input : graph_.inputs(id)) add(input, id);
      if (graph_.node(id).wait_of.valid()) add(graph_.node(id).wait_of, id);
      note_storages(id);
      note_effects(id);
      // Pairs of one later node stand together: each few are sorted by themselves.
      std::sort(pairs_.begin() + first, pairs_.end());
      pairs_.erase(std::unique(pairs_.begin() + first, pairs_.end()), pairs_.end());
    }
    return std::move(pairs_);
  }

 private:
  void add(NodeId earlier, NodeId later) {
    if (earlier.valid() && earlier != later) pairs_.emplace_back(earlier, later);
  }

  void append_storages(NodeId of, std::vector<StorageId>& storages) const {
    for (const Output& output : graph_.outputs(of)) storages.push_back(output.storage);
  }

  static void make_distinct(std::vector<StorageId>& storages) {
    std::sort(storages.begin(), storages.end());
    storages.erase(std::unique(storages.begin(), storages.end()), storages.end());
  }

  // Does the node look at the data of its inputs, so that communication into them must be complete?
  bool reads_data(NodeId id) const {
    const Node& node = graph_.node(id);
    if (node.kind != NodeKind::op) return false;  // what is returned went through its own wait
    const OpSpec* spec = graph_.op_spec(id);
    if (spec != nullptr && (spec->effects.waits || spec->metadata_only)) return false;
    if (graph_.op_name(id) == "getitem") return false;
    return !node.view_of.valid() || !graph_.mutates(id).empty() || graph_.collective(id) != nullptr;
  }

  void note_storages(NodeId id) {
    const Node& node = graph_.node(id);
    if (node.kind != NodeKind::op) return;
    const OpSpec* spec = graph_.op_spec(id);
    touched_.clear();
    written_.clear();
    arrived_.clear();
    if (reads_data(id)) {
      for (const NodeId input : graph_.inputs(id)) {
        for (const Output& output : graph_.outputs(input)) add(last_wait_[output.storage.index()], id);
      }
    }
    append_storages(id, touched_);
    for (const NodeId input : graph_.inputs(id)) append_storages(input, touched_);
    if (node.wait_of.valid()) {
      // The wait is where the collective lets go of what it reads, and where its results are there.
      for (const NodeId input : graph_.inputs(node.wait_of)) append_storages(input, touched_);
      append_storages(node.wait_of, arrived_);
      for (const NodeId mutated : graph_.mutates(node.wait_of)) append_storages(mutated, arrived_);
    }
    if (spec != nullptr && spec->effects.waits) append_storages(id, arrived_);
    for (const NodeId mutated : graph_.mutates(id)) append_storages(mutated, written_);
    touched_.insert(touched_.end(), written_.begin(), written_.end());
    make_distinct(touched_);
    make_distinct(written_);
    for (const StorageId storage : touched_) {
      add(last_write_[storage.index()], id);
      auto& accesses = accesses_[storage.index()];
      if (std::binary_search(written_.begin(), written_.end(), storage)) {
        add(last_wait_[storage.index()], id);
        for (const NodeId access : accesses) add(access, id);
        accesses.clear();
        last_write_[storage.index()] = id;
      } else {
        accesses.push_back(id);
      }
    }
    for (const StorageId storage : arrived_) last_wait_[storage.index()] = id;
  }

  void note_effects(NodeId id) {
    if (graph_.node(id).kind != NodeKind::op) return;
    const OpSpec* spec = graph_.op_spec(id);
    add(last_barrier_, id);
    if (spec == nullptr || spec->effects.opaque) {
      const std::size_t since = last_barrier_.valid() ? last_barrier_.index() + 1 : 0;
      for (std::size_t i = since; i < id.index(); ++i) add(NodeId(i), id);
      last_barrier_ = id;
    }
    if (spec != nullptr && spec->effects.side_effect) {
      add(last_effect_, id);
      last_effect_ = id;
    }
  }

  const Graph& graph_;
  Pairs pairs_;
  std::vector<NodeId> last_write_;
  std::vector<std::vector<NodeId>> accesses_;
  std::vector<NodeId> last_wait_;  // by storage: where its data arrived
  NodeId last_barrier_;
  NodeId last_effect_;
  std::vector<StorageId> touched_;
  std::vector<StorageId> written_;
  std::vector<StorageId> arrived_;
};

}  // namespace

OrderConstraints::OrderConstraints(const Graph& graph)
    : before_begin_(graph.size() + 1, 0), after_begin_(graph.size() + 1, 0) {
  const Pairs pairs = PairFinder(graph).run();
  before_.reserve(pairs.size());
  for (const auto& [earlier, later] : pairs) {
    before_.push_back(earlier);
    ++before_begin_[later.index() + 1];
    ++after_begin_[earlier.index() + 1];
  }
  for (std::size_t i = 0; i < graph.size(); ++i) {
    before_begin_[i + 1] += before_begin_[i];
    after_begin_[i + 1] += after_begin_[i];
  }
  after_.resize(pairs.size());
  std::vector<std::uint32_t> next(after_begin_.begin(), after_begin_.end() - 1);
  for (const auto& [earlier, later] : pairs) after_[next[earlier.index()]++] = later;
}

}  // namespace hocket
