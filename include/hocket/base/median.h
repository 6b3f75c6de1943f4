// The value in the middle; of an even number of values the upper one of the two in the middle, so that it is one of them.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

namespace hocket {

// There is at least one value.
template <typename Value>
Value upper_median(std::vector<Value> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

}  // namespace hocket
