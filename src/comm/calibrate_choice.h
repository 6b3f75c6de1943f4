// What `hocket calibrate` makes of its measurements.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace hocket {

// Less is noise: what measures worse or only a little better does not replace a default.
inline constexpr double least_gain = 0.05;

// Of a number of values that is odd or even, not none.
double median(std::vector<double> values);
double geometric_mean(std::span<const double> values);

// A threshold lies between two of some ascending sizes: the first `split` of them use one way, the others another. ratios[i] is the
// time of the other way over that of the one at size i. Moves the split from where the default has it, as long as every size that
// changes its way gains.
std::size_t choose_split(std::span<const double> ratios, std::size_t default_split);

// How many of the sizes use the one way: up to this one, or below it.
std::size_t split_until(std::span<const std::int64_t> sizes, std::int64_t threshold);
std::size_t split_from(std::span<const std::int64_t> sizes, std::int64_t threshold);
// And back; the default where nothing has moved.
std::int64_t threshold_until(std::span<const std::int64_t> sizes, std::size_t split, std::int64_t by_default);
std::int64_t threshold_from(std::span<const std::int64_t> sizes, std::size_t split, std::int64_t by_default);

}  // namespace hocket
