// What a reduction must give, bit for bit: one element at a time, in the order of the contract in src/comm/reduce.h, which is all
// that it shares with the code under test.
#pragma once

#include <cstddef>
#include <random>
#include <vector>

#include "comm/reduce.h"

namespace hocket::naive {

using Buffer = std::vector<std::byte>;

// check_reducible(dtype, op) holds, sources are not empty.
Buffer reduce(const Reduction& reduction, const std::vector<const std::byte*>& sources, std::size_t count);

// Elements that are worth reducing: numbers near 1 whose sums are rounded, and every eighth a zero, a NaN, infinite, subnormal or
// about to overflow.
void fill(std::mt19937_64& random, Dtype dtype, std::byte* buffer, std::size_t count);

}  // namespace hocket::naive
