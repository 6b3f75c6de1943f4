#include "hocket/schedule/step_graph.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "hocket/ir/order_constraints.h"
#include "schedule/step_graph_builder.h"

namespace hocket {

bool StepGraph::depends(StepIndex step, StepIndex on) const {
  const auto list = before(step);
  return std::binary_search(list.begin(), list.end(), on);
}

std::vector<StepIndex> StepGraph::original_order() const {
  // Inputs and attributes take no time and hold their memory throughout, so their place says nothing: first.
  std::vector<StepIndex> order(size());
  std::iota(order.begin(), order.end(), StepIndex{0});
  const auto is_front = [&](StepIndex step) { return kind(step) == StepKind::fixed && step + 1 < size(); };
  std::stable_partition(order.begin(), order.end(), is_front);
  return order;
}

// ---------------------------------------------------------------- gathering

StepGraphBuilder::StepGraphBuilder(std::size_t steps, const StepGraphOptions& options) : options_(options) {
  graph_.steps_.reserve(steps);
  graph_.names_.reserve(steps);
}

StepIndex StepGraphBuilder::add(StepKind kind, Nanoseconds time, std::string_view name, bool gemm) {
  const auto step = static_cast<StepIndex>(graph_.steps_.size());
  graph_.steps_.push_back({time, no_step, 0, kind, gemm, false});
  graph_.names_.push_back(name);
  if (kind != StepKind::fixed && last_barrier_ != no_step) edge(last_barrier_, step);
  return step;
}

std::uint32_t StepGraphBuilder::lane(const Group& group) {
  const auto [entry, is_new] = lane_of_.try_emplace(group.ranks, static_cast<std::uint32_t>(graph_.lane_names_.size()));
  if (is_new) {
    graph_.lane_names_.push_back(group.name);
    last_on_lane_.push_back(no_step);
  }
  return entry->second;
}

void StepGraphBuilder::on_lane(StepIndex collective, std::uint32_t lane) {
  graph_.steps_[collective].lane = lane;
  if (graph_.steps_[collective].kind == StepKind::collective) graph_.collectives_.push_back(collective);
  else graph_.steps_[collective].blocks = true;
  if (options_.keep_collective_order && last_on_lane_[lane] != no_step) edge(last_on_lane_[lane], collective);
  last_on_lane_[lane] = collective;
}

void StepGraphBuilder::completes(StepIndex wait, StepIndex collective) {
  graph_.steps_[wait].partner = collective;
  if (graph_.steps_[collective].partner == no_step) graph_.steps_[collective].partner = wait;
  edge(collective, wait);
}

void StepGraphBuilder::barrier(StepIndex step) {
  const StepIndex first = last_barrier_ == no_step ? 0 : last_barrier_;
  for (StepIndex earlier = first; earlier < step; ++earlier) {
    if (graph_.steps_[earlier].kind != StepKind::fixed) edge(earlier, step);
  }
  last_barrier_ = step;
}

void StepGraphBuilder::side_effect(StepIndex step) {
  if (last_effect_ != no_step) edge(last_effect_, step);
  last_effect_ = step;
}

std::uint32_t StepGraphBuilder::buffer(Bytes bytes) {
  graph_.buffers_.push_back({bytes, false});
  return static_cast<std::uint32_t>(graph_.buffers_.size() - 1);
}

// Linear but for the sorting of each owner's few elements.
StepGraph::Lists StepGraphBuilder::lists(const std::vector<std::pair<std::uint32_t, std::uint32_t>>& pairs,
                                         std::size_t size) {
  std::vector<std::uint32_t> begin(size + 1, 0);
  for (const auto& pair : pairs) ++begin[pair.first + 1];
  std::partial_sum(begin.begin(), begin.end(), begin.begin());
  std::vector<std::uint32_t> elements(pairs.size());
  std::vector<std::uint32_t> next(begin.begin(), begin.end() - 1);
  for (const auto& [owner, element] : pairs) elements[next[owner]++] = element;
  StepGraph::Lists result;
  result.begin.reserve(size + 1);
  result.begin.push_back(0);
  result.elements.reserve(pairs.size());
  for (std::size_t owner = 0; owner < size; ++owner) {
    const auto first = elements.begin() + begin[owner];
    const auto last = elements.begin() + begin[owner + 1];
    std::sort(first, last);
    result.elements.insert(result.elements.end(), first, std::unique(first, last));
    result.begin.push_back(static_cast<std::uint32_t>(result.elements.size()));
  }
  return result;
}

// Who has each element. Owners come in ascending order, so their lists are ascending.
StepGraph::Lists StepGraphBuilder::turned(const StepGraph::Lists& lists, std::size_t size) {
  StepGraph::Lists result;
  result.begin.assign(size + 1, 0);
  for (const std::uint32_t element : lists.elements) ++result.begin[element + 1];
  std::partial_sum(result.begin.begin(), result.begin.end(), result.begin.begin());
  result.elements.resize(lists.elements.size());
  std::vector<std::uint32_t> next(result.begin.begin(), result.begin.end() - 1);
  for (std::uint32_t owner = 0; owner + 1 < lists.begin.size(); ++owner) {
    for (const std::uint32_t element : StepGraph::slice(lists, owner)) result.elements[next[element]++] = owner;
  }
  return result;
}

StepGraph StepGraphBuilder::finish() {
  for (const auto& [before, after] : options_.orders) edge(before, after);
  graph_.before_ = lists(edges_, graph_.size());
  graph_.after_ = turned(graph_.before_, graph_.size());
  graph_.touches_ = lists(touches_, graph_.size());
  graph_.touched_by_ = turned(graph_.touches_, graph_.buffers_.size());
  return std::move(graph_);
}

// ---------------------------------------------------------------- graphs

namespace {

class GraphReader {
 public:
  GraphReader(const Graph& graph, std::span<const Nanoseconds> times, const StepGraphOptions& options)
      : graph_(graph), times_(times), constraints_(graph), builder_(graph.size(), options) {}

  StepGraph read() {
    make_buffers();
    for (std::size_t i = 0; i < graph_.size(); ++i) read_node(NodeId(i));
    return builder_.finish();
  }

 private:
  static constexpr std::uint32_t is_input = 0xffffffff;

  static bool is_op(const Node& node) { return node.kind == NodeKind::op; }

  void make_buffers() {
    std::vector<bool> input(graph_.storages().size(), false);
    for (std::size_t i = 0; i < graph_.size(); ++i) {
      const NodeKind kind = graph_.node(NodeId(i)).kind;
      if (kind != NodeKind::input && kind != NodeKind::attribute) continue;
      for (const Output& output : graph_.outputs(NodeId(i))) input[output.storage.index()] = true;
    }
    buffer_of_.assign(graph_.storages().size(), is_input);
    for (std::size_t s = 0; s < graph_.storages().size(); ++s) {
      const Dim bytes = graph_.storages()[s].bytes;
      const Bytes known(bytes.is_static() ? bytes.value() : 0);  // a symbolic size counts as nothing, as in stats
      if (input[s]) builder_.input_bytes(known);
      else buffer_of_[s] = builder_.buffer(known);
    }
  }

  void read_node(NodeId id) {
    const Node& node = graph_.node(id);
    const Collective* collective = graph_.collective(id);
    const OpSpec* spec = graph_.op_spec(id);
    const bool blocking = is_blocking(spec);
    StepKind kind = StepKind::compute;
    if (!is_op(node)) kind = StepKind::fixed;
    else if (collective != nullptr && !blocking) kind = StepKind::collective;
    else if (node.wait_of.valid() && graph_.collective(node.wait_of) != nullptr) kind = StepKind::wait;
    const Nanoseconds time = kind == StepKind::wait || kind == StepKind::fixed ? Nanoseconds() : times_[id.index()];
    const StepIndex step =
        builder_.add(kind, time, graph_.name(id), node.gemm || (spec != nullptr && spec->effects.gemm));
    for (const NodeId earlier : constraints_.before(id)) builder_.edge(earlier.value, step);
    note_touches(id, step, kind);
    if (collective != nullptr && is_op(node)) builder_.on_lane(step, builder_.lane(graph_.group(collective->group)));
    if (kind == StepKind::wait) builder_.completes(step, node.wait_of.value);
  }

  template <class Visit>
  void storages_of(NodeId id, Visit&& visit) const {
    for (const Output& output : graph_.outputs(id)) visit(output.storage.index());
  }

  void note_touches(NodeId id, StepIndex step, StepKind kind) {
    const Node& node = graph_.node(id);
    const auto touch = [&](std::size_t s) {
      if (buffer_of_[s] != is_input) builder_.touch(step, buffer_of_[s]);
    };
    if (is_op(node)) storages_of(id, touch);
    for (const NodeId input : graph_.inputs(id)) storages_of(input, touch);
    if (kind == StepKind::wait) {
      for (const NodeId input : graph_.inputs(node.wait_of)) storages_of(input, touch);
    }
    if (node.kind == NodeKind::output) {
      for (const NodeId input : graph_.inputs(id)) {
        storages_of(input, [&](std::size_t s) {
          if (buffer_of_[s] != is_input) builder_.keep(buffer_of_[s]);
        });
      }
    }
  }

  const Graph& graph_;
  std::span<const Nanoseconds> times_;
  OrderConstraints constraints_;
  StepGraphBuilder builder_;
  std::vector<std::uint32_t> buffer_of_;  // by storage
};

}  // namespace

Result<StepGraph> StepGraph::of(const Graph& graph, std::span<const Nanoseconds> times,
                                const StepGraphOptions& options) {
  if (times.size() != graph.size())
    return fail(ErrorKind::internal, "{} times for {} nodes", times.size(), graph.size());
  for (std::size_t i = 0; i < graph.size(); ++i) {
    for (const NodeId input : graph.inputs(NodeId(i))) {
      if (input.index() < i) continue;
      return fail(Error{ErrorKind::input, fmt::format("uses {}, which comes later", graph.name(input)),
                        fmt::format("node {}", graph.name(NodeId(i)))});
    }
  }
  return GraphReader(graph, times, options).read();
}

}  // namespace hocket
