// The best order of a program that is so small that all its orders can be looked at.
//
//   if (auto best = exact_order(units, limit, plan_time, most)) …
//
// What is held, and what can run next, depend on the set of units that have run and not on their order. So an order is a way from the empty
// set to the whole one, and of two ways to the same set the one on which everything ends later can be forgotten.
#pragma once

#include <optional>

#include "schedule/order_maker.h"

namespace hocket::overlap {

inline constexpr std::size_t most_exact_units = 64;

struct ExactOrder {
  bool complete = false;          // off: it would have taken more than it may
  std::optional<MadeOrder> made;  // the fastest within the limit; absent: none is faster than was asked for
};

// Looks at no more than `most_ways` ways. Judges by the two-lane model, and merges collectives of one class that are ready together.
ExactOrder exact_order(const UnitGraph& units, Size limit, Time faster_than, std::size_t most_ways);

}  // namespace hocket::overlap
