#include <algorithm>

#include "hocket/ir/verify.h"

namespace hocket {

namespace {

class OrderVerifier {
 public:
  OrderVerifier(const Graph& graph, std::span<const NodeId> order, const OrderOptions& options)
      : graph_(graph), order_(order), options_(options) {}

  std::vector<Problem> run() {
    if (!is_permutation()) return std::move(problems_);
    check_dependencies();
    check_storage_order();
    check_kept_sequences();
    check_waits();
    return std::move(problems_);
  }

 private:
  template <class... Args>
  void report(NodeId id, ProblemKind kind, fmt::format_string<Args...> format, Args&&... args) {
    problems_.push_back({kind, std::string(graph_.name(id)), fmt::format(format, std::forward<Args>(args)...)});
  }

  bool is_permutation() {
    position_.assign(graph_.size(), absent);
    for (std::size_t p = 0; p < order_.size(); ++p) {
      const NodeId id = order_[p];
      if (id.index() >= graph_.size()) {
        problems_.push_back({ProblemKind::order, "",
                             fmt::format("position {} names node {}, but there are {}", p, id.value, graph_.size())});
      } else if (position_[id.index()] != absent) {
        report(id, ProblemKind::order, "stands at positions {} and {}", position_[id.index()], p);
      } else {
        position_[id.index()] = p;
      }
    }
    for (std::size_t i = 0; i < graph_.size(); ++i) {
      if (position_[i] == absent) report(NodeId(i), ProblemKind::order, "is missing from the order");
    }
    return problems_.empty();
  }

  std::size_t position(NodeId id) const { return position_[id.index()]; }

  void check_dependencies() {
    for (std::size_t i = 0; i < graph_.size(); ++i) {
      const NodeId id(i);
      for (const NodeId input : graph_.inputs(id)) {
        if (position(input) >= position(id))
          report(id, ProblemKind::order, "runs before its input {}", graph_.name(input));
      }
      const NodeId awaited = graph_.node(id).wait_of;
      if (awaited.valid() && position(awaited) >= position(id))
        report(id, ProblemKind::order, "waits before {} starts", graph_.name(awaited));
    }
  }

  // Storages that a node's run touches: its results, its inputs, and what the collective that it completes was still reading.
  std::vector<StorageId> touched(NodeId id) const {
    std::vector<StorageId> storages;
    const auto append = [&](NodeId node) {
      for (const Output& output : graph_.outputs(node)) storages.push_back(output.storage);
    };
    if (graph_.node(id).kind == NodeKind::op) append(id);
    for (const NodeId input : graph_.inputs(id)) append(input);
    const NodeId awaited = graph_.node(id).wait_of;
    if (awaited.valid()) {
      for (const NodeId input : graph_.inputs(awaited)) append(input);
    }
    std::sort(storages.begin(), storages.end());
    storages.erase(std::unique(storages.begin(), storages.end()), storages.end());
    return storages;
  }

  // Around a write of a storage, everything else that touches it keeps its side. Between two writes any order will do,
  // so it is enough to give every access the number of writes before it: that number must not change.
  void check_storage_order() {
    std::vector<std::vector<NodeId>> users(graph_.storages().size());
    std::vector<bool> is_written(graph_.storages().size(), false);
    for (std::size_t i = 0; i < graph_.size(); ++i) {
      for (const StorageId storage : touched(NodeId(i))) users[storage.index()].push_back(NodeId(i));
      for (const NodeId mutated : graph_.mutates(NodeId(i))) {
        for (const Output& output : graph_.outputs(mutated)) is_written[output.storage.index()] = true;
      }
    }
    for (std::size_t s = 0; s < users.size(); ++s) {
      if (is_written[s]) check_accesses(StorageId(s), users[s]);
    }
  }

  bool writes(NodeId id, StorageId storage) const {
    for (const NodeId mutated : graph_.mutates(id)) {
      for (const Output& output : graph_.outputs(mutated)) {
        if (output.storage == storage) return true;
      }
    }
    return false;
  }

  void check_accesses(StorageId storage, const std::vector<NodeId>& users) {
    std::vector<NodeId> writers;
    for (const NodeId user : users) {
      if (writes(user, storage)) writers.push_back(user);
    }
    std::vector<std::size_t> writer_positions;
    for (const NodeId writer : writers) writer_positions.push_back(position(writer));
    if (!std::is_sorted(writer_positions.begin(), writer_positions.end())) {
      for (std::size_t i = 1; i < writers.size(); ++i) {
        if (writer_positions[i] < writer_positions[i - 1]) {
          report(writers[i], ProblemKind::order, "and {} changed places, and both write {}",
                 graph_.name(writers[i - 1]), graph_.name(graph_.storage(storage).allocated_by));
        }
      }
      return;
    }
    for (const NodeId user : users) {
      const auto before = std::lower_bound(writers.begin(), writers.end(), user) - writers.begin();
      const auto now =
          std::lower_bound(writer_positions.begin(), writer_positions.end(), position(user)) - writer_positions.begin();
      if (before == now) continue;
      const NodeId writer = writers[static_cast<std::size_t>(std::min(before, now))];
      report(user, ProblemKind::order, "and {} changed places, and {} writes {}", graph_.name(writer),
             graph_.name(writer), graph_.name(graph_.storage(storage).allocated_by));
    }
  }

  // The output stays the last. Side effects keep their order, opaque operators keep their place among all, collectives of a group keep theirs.
  void check_kept_sequences() {
    const NodeId end(graph_.size() - 1);
    if (graph_.size() > 0 && graph_.node(end).kind == NodeKind::output && position(end) != end.index()) {
      report(end, ProblemKind::order, "is the output, but stands before {}", graph_.name(order_.back()));
    }
    NodeId last_effect;
    std::vector<NodeId> last_of_group(graph_.groups().size());
    NodeId last_barrier;
    std::size_t highest = 0;  // the latest position of the nodes so far
    NodeId highest_node;
    for (std::size_t i = 0; i < graph_.size(); ++i) {
      const NodeId id(i);
      const bool is_op = graph_.node(id).kind == NodeKind::op;
      const OpSpec* spec = graph_.op_spec(id);
      const bool opaque = is_op && (spec == nullptr || spec->effects.opaque);
      if (is_op && last_barrier.valid() && position(id) < position(last_barrier)) {
        report(id, ProblemKind::order, "moved before {}, whose effects are not known", graph_.name(last_barrier));
      }
      if (opaque) {
        if (highest_node.valid() && highest > position(id)) {
          report(highest_node, ProblemKind::order, "moved behind {}, whose effects are not known", graph_.name(id));
        }
        last_barrier = id;
      }
      if (position(id) >= highest && is_op) {
        highest = position(id);
        highest_node = id;
      }
      if (spec != nullptr && spec->effects.side_effect) {
        if (last_effect.valid() && position(id) < position(last_effect)) {
          report(id, ProblemKind::order, "and {} changed places, and both have effects beyond their results",
                 graph_.name(last_effect));
        }
        last_effect = id;
      }
      if (const Collective* collective = graph_.collective(id);
          collective != nullptr && options_.keep_collective_order) {
        NodeId& last = last_of_group[collective->group.index()];
        if (last.valid() && position(id) < position(last)) {
          report(id, ProblemKind::order, "and {} changed places on group @{}", graph_.name(last),
                 graph_.group(collective->group).name);
        }
        last = id;
      }
    }
  }

  bool reads_data(NodeId id) const {
    const OpSpec* spec = graph_.op_spec(id);
    if (graph_.node(id).kind == NodeKind::output) return true;
    if (graph_.node(id).kind != NodeKind::op) return false;
    if (spec == nullptr) return true;
    if (spec->effects.waits || spec->metadata_only || graph_.op_name(id) == "getitem") return false;
    const bool is_view =
        graph_.node(id).view_of.valid() && graph_.mutates(id).empty() && graph_.collective(id) == nullptr;
    return !is_view;
  }

  void check_waits() {
    std::vector<NodeId> flying(graph_.storages().size());
    for (const NodeId id : order_) {
      const Node& node = graph_.node(id);
      if (node.wait_of.valid()) {
        for (const Output& output : graph_.outputs(node.wait_of)) {
          if (flying[output.storage.index()] == node.wait_of) flying[output.storage.index()] = NodeId::none();
        }
      } else if (reads_data(id)) {
        for (const NodeId input : graph_.inputs(id)) {
          for (const Output& output : graph_.outputs(input)) {
            const NodeId collective = flying[output.storage.index()];
            if (collective.valid())
              report(id, ProblemKind::wait, "uses {}, the result of {}, before it is waited for", graph_.name(input),
                     graph_.name(collective));
          }
        }
      }
      if (graph_.collective(id) != nullptr && !is_blocking(graph_.op_spec(id))) {
        for (const Output& output : graph_.outputs(id)) flying[output.storage.index()] = id;
      }
    }
  }

  static constexpr std::size_t absent = static_cast<std::size_t>(-1);

  const Graph& graph_;
  std::span<const NodeId> order_;
  const OrderOptions options_;
  std::vector<std::size_t> position_;
  std::vector<Problem> problems_;
};

}  // namespace

std::vector<Problem> verify_order(const Graph& graph, std::span<const NodeId> order, const OrderOptions& options) {
  return OrderVerifier(graph, order, options).run();
}

}  // namespace hocket
