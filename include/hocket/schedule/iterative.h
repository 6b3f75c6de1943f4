// Passes that take the collectives one by one and move each as far as it pays, within a memory limit.
//
// reorder_communication_preserving_peak_memory moves collectives earlier, the first one first; sink_waits_iterative moves waits later,
// the last one first. Both are one walk with a direction: past a neighbour that is independent; together with one that is not, if
// that is cheap work; until the collective is hidden, the memory limit is reached, or nothing can be passed.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "hocket/schedule/schedule.h"

namespace hocket {

struct IterativeOptions {
  double memory_budget = 0.0;              // the peak may grow by this fraction of the given order's
  std::optional<Bytes> memory_limit = {};  // or: a limit in bytes; the larger of it and the given peak holds
  bool use_estimates = true;               // stop where the collective is hidden; off: as far as possible
  bool group = true;                       // take along what a collective needs (what needs a wait)
  bool reorder_collectives = false;        // collectives of one lane may change places: only where all ranks agree
  StepIndex only = no_step;                // move this collective, or its wait, and no other
  std::size_t max_moves = std::numeric_limits<std::size_t>::max();        // collectives that are moved at all
  std::size_t max_passes_each = std::numeric_limits<std::size_t>::max();  // neighbours that one may pass
};

// Why a collective or wait stands where it stands.
enum class Limit : std::uint8_t {
  hidden,            // nothing is left to gain
  dependency,        // on `step`
  memory,            // `memory` would exceed the limit
  collective_order,  // the collective before it on its lane is `step`
  lane_busy,         // an earlier start would only wait for `step` on the lane
  end_of_program,    // there is nothing more to pass
  move_limit,        // the options allow no more
  no_wait,           // nobody waits for it
};
std::string_view name_of(Limit limit);

struct CollectiveMove {
  StepIndex collective = no_step;
  std::size_t passed = 0;          // steps
  std::vector<StepIndex> grouped;  // steps that moved along
  Limit limit = Limit::end_of_program;
  StepIndex step = no_step;    // that the limit names
  Bytes memory;                // that Limit::memory would have taken
  Nanoseconds exposed_before;  // by the walk's own estimate
  Nanoseconds exposed_after;
};

struct IterativeResult {
  std::vector<StepIndex> order;
  std::vector<CollectiveMove> moves;  // one for each collective, in the original order
  Bytes limit;                        // that held
};

// `steps` must have been made with keep_collective_order = !options.reorder_collectives.
IterativeResult reorder_communication_preserving_peak_memory(const StepGraph& steps, std::vector<StepIndex> order,
                                                             const IterativeOptions& options = {});
IterativeResult sink_waits_iterative(const StepGraph& steps, std::vector<StepIndex> order,
                                     const IterativeOptions& options = {});

}  // namespace hocket
