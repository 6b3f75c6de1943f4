// For the tests of this room: plain answers to compare with. Nothing of it is part of the library.
#pragma once

#include <algorithm>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "hocket/ir/graph.h"

namespace hocket::fuse {

// The two-lane model as RESULTS.md of the captures describes it, node by node, from the times that the graph carries.
inline Nanoseconds two_lane_step_time(const Graph& graph) {
  Nanoseconds now;
  Nanoseconds last;
  std::map<std::vector<Rank>, Nanoseconds> lanes;
  std::vector<Nanoseconds> done(graph.size());
  for (std::size_t i = 0; i < graph.size(); ++i) {
    const NodeId id(i);
    const Nanoseconds time = graph.estimate(id).value_or(Nanoseconds());
    if (const Collective* collective = graph.collective(id)) {
      Nanoseconds& lane = lanes[graph.group(collective->group).ranks];
      lane = std::max(lane, now) + time;
      done[i] = lane;
      last = std::max(last, lane);
    } else if (graph.node(id).wait_of.valid()) {
      now = std::max(now, done[graph.node(id).wait_of.index()]);
    } else {
      now += time;
    }
  }
  return std::max(now, last);
}

// Bytes that are reduced, gathered (results) or sent, by kind and group: no pass changes them.
inline std::map<std::pair<CollectiveKind, std::string>, std::int64_t> payload(const Graph& graph) {
  std::map<std::pair<CollectiveKind, std::string>, std::int64_t> bytes;
  for (std::size_t i = 0; i < graph.size(); ++i) {
    const Collective* collective = graph.collective(NodeId(i));
    if (collective == nullptr) continue;
    const bool gathers = collective->kind == CollectiveKind::all_gather;
    bytes[{collective->kind, graph.group(collective->group).name}] +=
        gathers ? collective->bytes_out.count : collective->bytes_in.count;
  }
  return bytes;
}

inline std::size_t collectives_in(const Graph& graph) {
  std::size_t count = 0;
  for (std::size_t i = 0; i < graph.size(); ++i) count += graph.collective(NodeId(i)) != nullptr ? 1 : 0;
  return count;
}

}  // namespace hocket::fuse
