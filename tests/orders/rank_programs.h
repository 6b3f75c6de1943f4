// Programs of all ranks of a world, each its own, with collectives on groups that overlap at random; and what becomes of the ranks
// when each runs its program and blocks where it must.
//
//   RankPrograms all = random_rank_programs(seed);      // sound: all ranks keep one order of all collectives
//   invert(all, random);                                // one rank does two things the other way round
//   if (outcome_of(graphs_of(all)) != Outcome::all_end) …
#pragma once

#include <vector>

#include "hocket/ir/graph.h"
#include "hocket/ir/program.h"
#include "support/random.h"

namespace hocket {

struct WorldCollective {
  CollectiveKind kind = CollectiveKind::all_reduce;
  std::size_t group = 0;
  std::int64_t elements = 0;  // of the input; no two collectives have the same
};

// What a rank does next: starts a collective of the world, or waits for it.
struct RankEvent {
  bool waits = false;
  std::size_t collective = 0;
};

struct RankPrograms {
  std::vector<std::vector<Rank>> groups;
  std::vector<WorldCollective> collectives;
  std::vector<std::vector<RankEvent>> ranks;
};

RankPrograms random_rank_programs(std::uint64_t seed);

// Exchanges two neighbouring collectives of one rank, their starts and their waits. False where no rank has two.
bool invert(RankPrograms& programs, Random& random);

std::vector<Graph> graphs_of(const RankPrograms& programs);

enum class Outcome {
  all_end,
  stuck,    // somebody waits for ever
  confused  // ranks of a group meet in calls that are not the same
};
// Runs all ranks, one event at a time, until nobody can go on. A group has a queue for each of its ranks; its next collective takes
// place when all queues have one. It shares no code with hocket's own check: it asks for operators by their names.
Outcome outcome_of(const std::vector<Graph>& graphs);
Outcome outcome_of(const std::vector<Program>& programs);

}  // namespace hocket
