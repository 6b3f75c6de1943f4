// What a graph and a program have in common for the pipeline: ids by position.
#pragma once

#include <span>
#include <type_traits>
#include <vector>

#include "hocket/compile/pass.h"

namespace hocket {

template <class Form>
using IdOf = std::conditional_t<std::is_same_v<Form, Graph>, NodeId, StepId>;

// The nodes or steps at these positions.
template <class Form>
std::vector<IdOf<Form>> ids_of(std::span<const StepIndex> order) {
  std::vector<IdOf<Form>> ids;
  ids.reserve(order.size());
  for (const StepIndex step : order) ids.emplace_back(step);
  return ids;
}

}  // namespace hocket
