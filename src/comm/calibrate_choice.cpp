#include "comm/calibrate_choice.h"

#include <algorithm>
#include <cmath>

#include "comm/tuning.h"

namespace hocket {

double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  if (values.size() % 2 == 1) return *middle;
  return (*std::max_element(values.begin(), middle) + *middle) / 2;
}

double geometric_mean(std::span<const double> values) {
  double sum = 0;
  for (const double value : values) sum += std::log(value);
  return std::exp(sum / static_cast<double>(values.size()));
}

std::size_t choose_split(std::span<const double> ratios, std::size_t default_split) {
  std::size_t split = default_split;
  while (split < ratios.size() && 1 / ratios[split] < 1 - least_gain) ++split;
  if (split != default_split) return split;
  while (split > 0 && ratios[split - 1] < 1 - least_gain) --split;
  return split;
}

std::size_t split_until(std::span<const std::int64_t> sizes, std::int64_t threshold) {
  return static_cast<std::size_t>(std::upper_bound(sizes.begin(), sizes.end(), threshold) - sizes.begin());
}

std::size_t split_from(std::span<const std::int64_t> sizes, std::int64_t threshold) {
  return static_cast<std::size_t>(std::lower_bound(sizes.begin(), sizes.end(), threshold) - sizes.begin());
}

std::int64_t threshold_until(std::span<const std::int64_t> sizes, std::size_t split, std::int64_t by_default) {
  if (split == split_until(sizes, by_default)) return by_default;
  return split == 0 ? 0 : sizes[split - 1];
}

std::int64_t threshold_from(std::span<const std::int64_t> sizes, std::size_t split, std::int64_t by_default) {
  if (split == split_from(sizes, by_default)) return by_default;
  return split == sizes.size() ? Tuning::always : sizes[split];
}

}  // namespace hocket
