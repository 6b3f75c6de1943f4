// Can the ranks run their programs to the end? Each rank issues collectives and waits for them in its own order; a collective ends
// when all ranks of its group have issued it and the ones before it on the group have ended.
//
//   std::vector<RankOrder> ranks = …;
//   if (auto stuck = find_cyclic_wait(ranks)) fmt::print("{}\n", stuck->to_string());
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "hocket/base/ids.h"
#include "hocket/cost/agree.h"
#include "hocket/ir/graph.h"
#include "hocket/ir/program.h"

namespace hocket {

struct CommunicationEvent {
  bool waits = false;
  std::string group;         // the same name means the same ranks on every rank
  std::size_t sequence = 0;  // the how-manieth collective of its group it is, from 0
  std::string name;          // of the step
  CollectiveKind kind = CollectiveKind::all_reduce;
  Bytes bytes_in;
};

struct RankOrder {
  Rank rank;
  std::vector<CommunicationEvent> events;
  std::vector<Group> groups;  // those that the events name
};

// What a rank's graph or program does on the network, in its order. A collective whose kernel blocks is waited for where it stands.
// Messages between two ranks have no place in the order of their group and are left out.
RankOrder communication_of(const Graph& graph, Rank rank);
RankOrder communication_of(const Program& program, Rank rank);

struct StuckRank {
  Rank rank;
  std::string waits_for;  // step
  std::string group;
  Rank missing;  // the rank that has not issued it
};
struct CyclicWait {
  std::vector<StuckRank> cycle;  // each waits for the next, the last for the first; or ends at a rank that never issues
  std::string to_string() const;
};

// Runs all ranks as far as they get. Nothing: they all reach the end.
std::optional<CyclicWait> find_cyclic_wait(std::span<const RankOrder> ranks);

// Do all ranks issue the collectives of each group in the same order, with the same kind and size? The first difference otherwise.
// The parts of an all-to-all may have other sizes on other ranks.
Status check_collective_order(std::span<const RankOrder> ranks);

// Both checks over the orders of all ranks before anything runs, with the same answer on each. Groups are the same where they have
// the same ranks, whatever their names. What no step waits for counts as waited for at the end.
Status agree_on_order(const RankOrder& mine, AllGather& all);

}  // namespace hocket
