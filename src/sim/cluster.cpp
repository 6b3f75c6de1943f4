#include "sim/cluster.h"

#include <algorithm>
#include <map>

#include "hocket/cost/collectives.h"
#include "hocket/sim/scale.h"

namespace hocket {

namespace {

// How much of a rank's link at each level a collective of these ranks needs. Every rank exchanges a part with each of its peers, so
// a level is busy in proportion to the peers behind it and to its slowness; the busiest one is what the collective waits for.
std::vector<double> shares(const Machine& machine, std::span<const Rank> ranks) {
  std::vector<double> busy(machine.levels.size(), 0);
  const GroupLayout layout(machine, ranks);
  for (const GroupLayout::Level& level : layout.levels())
    busy[level.index] = static_cast<double>(level.peers) / machine.levels[level.index].bandwidth;
  const double most = *std::max_element(busy.begin(), busy.end());
  for (double& share : busy) share = most > 0 ? share / most : 0;
  return busy;
}

class ClusterBuilder {
 public:
  explicit ClusterBuilder(const Machine& machine) : machine_(machine) { cluster_.levels = machine.levels.size(); }

  void add(const SimProgram& program) {
    cluster_.programs.push_back(&program);
    cluster_.meeting_of.emplace_back();
    met_.clear();
  }
  // The meeting point of these ranks, for the rank that was added last. Groups that another number of ranks has made the same, such as
  // the whole world and one host, stay groups of their own.
  void meet(const std::vector<Rank>& ranks) {
    const std::uint32_t before = met_[ranks]++;
    const auto [entry, is_new] =
        known_.try_emplace({ranks, before}, static_cast<std::uint32_t>(cluster_.meetings.size()));
    if (is_new) {
      MeetingPoint point;
      for (const Rank rank : ranks) point.ranks.push_back(static_cast<std::uint32_t>(rank.value));
      point.arrivals = ranks.size();
      point.share = shares(machine_, ranks);
      cluster_.meetings.push_back(std::move(point));
    }
    cluster_.meeting_of.back().push_back(entry->second);
  }
  Cluster finish() { return std::move(cluster_); }

 private:
  const Machine& machine_;
  Cluster cluster_;
  std::map<std::pair<std::vector<Rank>, std::uint32_t>, std::uint32_t> known_;  // by ranks and how many had them before
  std::map<std::vector<Rank>, std::uint32_t> met_;                              // of the rank that was added last
};

std::vector<Rank> sorted(std::vector<Rank> ranks) {
  std::sort(ranks.begin(), ranks.end());
  return ranks;
}

}  // namespace

Cluster folded_cluster(const SimProgram& program, const Machine& machine) {
  ClusterBuilder builder(machine);
  builder.add(program);
  for (const SimLane& lane : program.lanes) builder.meet(lane.ranks);
  Cluster cluster = builder.finish();
  for (MeetingPoint& point : cluster.meetings) {
    point.ranks = {0};
    point.arrivals = 1;
  }
  return cluster;
}

Result<Cluster> spmd_cluster(const SimProgram& program, const Machine& machine) {
  std::vector<EvenGroup> shapes;
  for (const SimLane& lane : program.lanes) {
    const auto even = even_group(lane.ranks);
    if (!even || program.world % (even->stride * even->size) != 0) {
      return fail(ErrorKind::usage,
                  "group {} of {} ranks does not say which group each of the {} ranks is in: its ranks are not evenly "
                  "spaced, or don't fill the world",
                  lane.name, lane.ranks.size(), program.world);
    }
    shapes.push_back(*even);
  }
  ClusterBuilder builder(machine);
  for (std::int64_t rank = 0; rank < program.world; ++rank) {
    builder.add(program);
    for (const EvenGroup& shape : shapes) builder.meet(shape.of(Rank{static_cast<std::int32_t>(rank)}).ranks());
  }
  return builder.finish();
}

Cluster cluster_of(std::span<const SimProgram> programs, const Machine& machine) {
  ClusterBuilder builder(machine);
  for (const SimProgram& program : programs) {
    builder.add(program);
    for (const SimLane& lane : program.lanes) builder.meet(sorted(lane.ranks));
  }
  return builder.finish();
}

}  // namespace hocket
