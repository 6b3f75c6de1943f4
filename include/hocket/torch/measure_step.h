// What a captured step takes on the ranks that would run it, for the cost model: its kernels, and what it communicates.
//
//   HOCKET_TRY(const MeasuredStep measured, measure_step(graph, world));
//   HOCKET_CHECK(write_profile(measured.profile, "measured.json"));       // hocket opt … --profile measured.json
#pragma once

#include <chrono>
#include <optional>
#include <vector>

#include "hocket/comm/world.h"
#include "hocket/cost/collective_table.h"
#include "hocket/cost/profile.h"
#include "hocket/ir/graph.h"

namespace hocket {

struct MeasureStepOptions {
  int runs = 5;  // beyond the first one, which finds cold memory
  std::chrono::milliseconds timeout{300'000};
};

struct MeasuredStep {
  Profile profile;                             // of the kernels, by call
  std::optional<CollectiveTable> collectives;  // absent: it has none
  std::vector<Nanoseconds> runs;               // what each took on this rank, communication and all
};

// Collective over all ranks of the world, all of which have the same graph. Compiles it with default_step_passes() and runs it with
// libtorch's kernels on made-up data: integers are 0, everything else is small noise. All ranks get the same profile and table.
Result<MeasuredStep> measure_step(const Graph& graph, const World& world, const MeasureStepOptions& options = {});

}  // namespace hocket
