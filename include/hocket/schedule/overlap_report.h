// What an order does with communication: for every collective its time, what hides it, what is exposed before and after, and what limits it.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "hocket/schedule/iterative.h"

namespace hocket {

struct CollectiveStats {
  StepIndex collective = no_step;
  Nanoseconds time;
  Nanoseconds overlapped;                     // of its time, while the compute lane worked
  std::optional<Nanoseconds> exposed_before;  // how long the compute lane stood still for it; absent where it is new
  Nanoseconds exposed_after;
  std::size_t start = 0;                 // places in the order
  std::size_t wait = 0;                  // the end where nobody waits
  std::optional<CollectiveMove> raised;  // by reorder_communication_preserving_peak_memory
  std::optional<CollectiveMove> sunk;    // by sink_waits_iterative
};

struct OverlapReport {
  Bytes limit;                               // 0: none held
  std::vector<CollectiveStats> collectives;  // in the original order
};

// `was` tells how exposed a collective was before, by its name; absent for new ones.
using ExposedBefore = std::function<std::optional<Nanoseconds>(std::string_view collective)>;
OverlapReport overlap_report(const StepGraph& steps, std::span<const StepIndex> order, const ExposedBefore& was,
                             const IterativeResult* raised = nullptr, const IterativeResult* sunk = nullptr);

// How long the compute lane stands still for each collective, the tail behind the last compute included; by step.
std::vector<Nanoseconds> exposed_times(const StepGraph& steps, std::span<const StepIndex> order);

// Why a collective is where it is, in words: "depends on mm_3", "9.3 GiB, the limit is 9.1 GiB".
std::string limit_in_words(const StepGraph& steps, const CollectiveMove& move, Bytes limit, Direction direction);

// A table with a row for each collective; at most `most` rows, the most exposed ones (0: all, in order).
std::string table_of(const OverlapReport& report, const StepGraph& steps, std::size_t most = 0);

// The order as text: what runs while a collective is in flight stands indented under it, with its time.
std::string visualize_overlap(const StepGraph& steps, std::span<const StepIndex> order);

}  // namespace hocket
