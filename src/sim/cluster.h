// All ranks that are simulated, what each runs, and who meets whom.
#pragma once

#include <span>
#include <vector>

#include "hocket/sim/simulate.h"
#include "sim/fair_share.h"

namespace hocket {

// A group of ranks as it is in the world: one for each set of ranks.
struct MeetingPoint {
  std::vector<std::uint32_t> ranks;
  std::size_t arrivals = 0;   // that a collective waits for; 1 where one rank stands for all
  std::vector<double> share;  // by level: of a rank's link that a collective of this group needs at full speed
};

struct Cluster {
  std::vector<const SimProgram*> programs;             // by rank
  std::vector<std::vector<std::uint32_t>> meeting_of;  // by rank and lane
  std::vector<MeetingPoint> meetings;
  std::size_t levels = 0;
};

// One rank for all.
Cluster folded_cluster(const SimProgram& program, const Machine& machine);
// Every rank runs the program, in its own groups.
Result<Cluster> spmd_cluster(const SimProgram& program, const Machine& machine);
Cluster cluster_of(std::span<const SimProgram> programs, const Machine& machine);

}  // namespace hocket
