// The same training step on another number of ranks.
//
//   HOCKET_TRY(const SimProgram program, scale_program(graph, cost, {.ranks = 256}));
//
// Weak scaling: every rank computes what it computed. The groups that reach across the whole world (data parallel, sharding) grow with
// it; those inside (tensor parallel) stay. A gathered tensor keeps its size, so each rank's part shrinks. Collectives take what the
// machine says, since what was captured holds for the captured size only.
#pragma once

#include <cstdint>

#include "hocket/sim/simulate.h"

namespace hocket {

struct ScaleOptions {
  std::int64_t ranks = 0;
};

Result<SimProgram> scale_program(const Subject& subject, const CostModel& cost, const ScaleOptions& options);

// Ranks that lie `stride` apart from each other: rank 0 is in {0, stride, 2·stride, …}.
struct EvenGroup {
  std::int64_t first = 0;
  std::int64_t stride = 1;
  std::int64_t size = 1;

  // The group of the same shape that a rank is in.
  EvenGroup of(Rank rank) const;
  std::vector<Rank> ranks() const;
};
// Nothing where the ranks are not evenly spaced.
std::optional<EvenGroup> even_group(std::span<const Rank> ranks);

}  // namespace hocket
