// One optimiser for order, buckets and memory together: the pass `overlap`.
//
//   const OverlapPlan plan = plan_overlap(steps, {.memory_limit = limit});
//   plan.order      // all steps; the members of a bucket stand together, and so do their waits
//   plan.buckets    // collectives that become one
//
// The time is that of the two-lane model. The peak never exceeds the limit; where no order keeps it, the plan says so. The same steps
// and options give the same plan, whatever the machine, the run or the thread.
// docs/passes/overlap.md says how it works.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "hocket/schedule/lane_model.h"
#include "hocket/schedule/step_graph.h"

namespace hocket {

enum class Effort : std::uint8_t {
  fast,      // one look at a few orders
  standard,  // "default": up to two seconds at 55,000 steps
  max,       // as long as it pays, at most about a minute
};
std::string_view name_of(Effort effort);
std::optional<Effort> effort_from_name(std::string_view name);

// Collectives that may become one: same kind, group, dtype and reduce operation.
struct MergeClass {
  std::function<Nanoseconds(Bytes moved)> time;  // of one that moves so many bytes, inputs plus outputs
};

// A collective that may be merged with others of its class; it has exactly one wait.
struct MergeCandidate {
  StepIndex collective = no_step;
  std::uint32_t merge_class = 0;
  Bytes moved;
};

struct OverlapOptions {
  Effort effort = Effort::standard;
  std::optional<Bytes> memory_limit;  // absent: the peak of the original order
  std::vector<MergeClass> classes;    // empty: pure reordering
  std::vector<MergeCandidate> candidates;
  std::optional<LaneModel> model;  // absent: the two-lane model
  // With the largest effort, in place of all that it looks at otherwise: orders in which early_steps() run in front of the peak.
  bool early = false;
};

struct OverlapPlan {
  std::vector<StepIndex> order;
  std::vector<std::vector<StepIndex>> buckets;  // of two members or more
  Nanoseconds step_time;                        // by the model
  Bytes peak;
  std::size_t orders_tried = 0;
  bool improved = false;  // off: nothing better was found, and the order is the original's
  // Off: no order was found that keeps the limit. The order is then the one that holds the least, and its peak says what can be
  // reached.
  bool within_limit = true;
};

// `steps` must have been made without keep_collective_order.
OverlapPlan plan_overlap(const StepGraph& steps, const OverlapOptions& options);

// Steps from behind the peak of memory that need nothing from it and could run in front of it within the limit: those that compute most
// for what they then hold there, with all that they need.
std::vector<StepIndex> early_steps(const StepGraph& steps, const OverlapOptions& options);

}  // namespace hocket
