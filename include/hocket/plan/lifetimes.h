// When the buffers of a program are in use.
//
//   const std::vector<Lifetime> lifetimes = lifetimes_of(program);      // by buffer
//
// A buffer lives from the first step that touches it to the last; what a collective reads or writes stays until its wait, or
// to the end where there is none; results live to the end.
#pragma once

#include <cstddef>
#include <vector>

#include "hocket/ir/program.h"
#include "hocket/ir/tail.h"

namespace hocket {

// Steps first … last, both included; the step after the last one stands for the results.
struct Lifetime {
  static constexpr std::size_t never = static_cast<std::size_t>(-1);
  std::size_t first = never;
  std::size_t last = 0;
  bool is_used() const { return first != never; }
  friend bool operator==(const Lifetime&, const Lifetime&) = default;
};

std::vector<Lifetime> lifetimes_of(const Program& program);
// Where every run carries its tail into the next one: in the order of carried_order(). What is carried, and results, live throughout.
std::vector<Lifetime> lifetimes_of(const Program& program, const Tail& tail);

// An error that names two buffers which are in use at the same time and share bytes, if there are any.
Status check_places(const Program& program, const std::vector<Lifetime>& lifetimes);

}  // namespace hocket
