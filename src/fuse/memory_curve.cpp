#include "fuse/memory_curve.h"

#include <algorithm>
#include <limits>

namespace hocket::fuse {

namespace {

// The highest of no position at all; half, so that sums with it do not overflow.
constexpr std::int64_t nothing = std::numeric_limits<std::int64_t>::min() / 2;

std::int64_t bytes_of(const Graph& graph, StorageId id) {
  const Dim bytes = graph.storage(id).bytes;
  return bytes.is_static() ? bytes.value() : 0;
}

// Live bytes by position.
std::vector<std::int64_t> live_bytes(const Graph& graph) {
  const std::size_t count = graph.size();
  std::vector<std::size_t> begin(graph.storages().size(), count);
  std::vector<std::size_t> end(graph.storages().size(), 0);
  const auto touch = [&](NodeId node, std::size_t when, std::size_t until) {
    for (const Output& output : graph.outputs(node)) {
      std::size_t& first = begin[output.storage.index()];
      std::size_t& last = end[output.storage.index()];
      first = std::min(first, when);
      last = std::max(last, until);
    }
  };
  for (std::size_t i = 0; i < count; ++i) {
    const Node& node = graph.node(NodeId(i));
    const bool is_input = node.kind == NodeKind::input || node.kind == NodeKind::attribute;
    touch(NodeId(i), is_input ? 0 : i, is_input ? count : i + 1);
    for (const NodeId input : graph.inputs(NodeId(i))) {
      touch(input, i, node.kind == NodeKind::output ? count : i + 1);
    }
    if (!node.wait_of.valid()) continue;
    for (const NodeId input : graph.inputs(node.wait_of)) touch(input, i, i + 1);
  }
  std::vector<std::int64_t> live(count + 1, 0);
  for (std::size_t s = 0; s < begin.size(); ++s) {
    if (begin[s] >= end[s]) continue;
    live[begin[s]] += bytes_of(graph, StorageId(s));
    live[end[s]] -= bytes_of(graph, StorageId(s));
  }
  for (std::size_t i = 0; i < count; ++i) live[i + 1] += live[i];
  return live;
}

}  // namespace

PeakCurve::PeakCurve(const Graph& graph) : size_(graph.size()), nodes_(4 * std::max<std::size_t>(1, graph.size())) {
  if (size_ > 0) build(1, 0, size_, live_bytes(graph));
}

void PeakCurve::build(std::size_t node, std::size_t from, std::size_t to, const std::vector<std::int64_t>& live) {
  if (to - from == 1) {
    nodes_[node].top = live[from];
    return;
  }
  const std::size_t middle = (from + to) / 2;
  build(2 * node, from, middle, live);
  build(2 * node + 1, middle, to, live);
  nodes_[node].top = std::max(nodes_[2 * node].top, nodes_[2 * node + 1].top);
}

void PeakCurve::add(std::size_t node, std::size_t from, std::size_t to, std::size_t begin, std::size_t end,
                    std::int64_t bytes) {
  if (end <= from || to <= begin) return;
  if (begin <= from && to <= end) {
    nodes_[node].top += bytes;
    nodes_[node].added += bytes;
    return;
  }
  const std::size_t middle = (from + to) / 2;
  add(2 * node, from, middle, begin, end, bytes);
  add(2 * node + 1, middle, to, begin, end, bytes);
  nodes_[node].top = std::max(nodes_[2 * node].top, nodes_[2 * node + 1].top) + nodes_[node].added;
}

std::int64_t PeakCurve::highest(std::size_t node, std::size_t from, std::size_t to, std::size_t begin,
                                std::size_t end) const {
  if (end <= from || to <= begin) return nothing;
  if (begin <= from && to <= end) return nodes_[node].top;
  const std::size_t middle = (from + to) / 2;
  return nodes_[node].added +
         std::max(highest(2 * node, from, middle, begin, end), highest(2 * node + 1, middle, to, begin, end));
}

void PeakCurve::add(std::uint32_t begin, std::uint32_t end, Bytes bytes) {
  if (begin < end && size_ > 0) add(1, 0, size_, begin, end, bytes.count);
}

Bytes PeakCurve::highest(std::uint32_t begin, std::uint32_t end) const {
  return Bytes(begin < end && size_ > 0 ? highest(1, 0, size_, begin, end) : 0);
}

}  // namespace hocket::fuse
