// What the collectives of a program take on the ranks that will run it, for the cost model.
//
//   HOCKET_TRY(options.machine.collectives, measure_collectives(program, world));
#pragma once

#include "hocket/comm/world.h"
#include "hocket/cost/collective_table.h"
#include "hocket/ir/program.h"

namespace hocket {

struct MeasureCollectivesOptions {
  std::chrono::milliseconds each{15};     // for each kind, group and size, beyond the first call
  Bytes largest{std::int64_t{16} << 20};  // inputs and outputs together
  std::chrono::milliseconds timeout{300'000};
};

// Collective over all ranks of the world: those of all collectives in the program, by kind and number of ranks; the slowest rank and
// the slowest group count. Nothing, if it has none.
Result<std::optional<CollectiveTable>> measure_collectives(const Program& program, const World& world,
                                                           const MeasureCollectivesOptions& options = {});

}  // namespace hocket
