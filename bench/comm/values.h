// What is in the buffers. Checked values are whole numbers that tell ranks and places apart and whose sums are exact, so that a
// result is right to the bit whatever order it was summed in.
#pragma once

#include <cstdint>

#include "protocol.h"

namespace hocket::comm_bench {

// Element `index` of the input of `rank`.
float input_value(std::int32_t rank, std::int64_t index);
// Element `index` of what `rank` of `ranks` must get; in a broadcast from rank 0.
float expected_value(Operator op, std::int32_t rank, std::int32_t ranks, std::int64_t count, std::int64_t index);

// Writes one value everywhere, at the speed of memory: the work of whoever makes the input, where that is timed.
void fill(float* data, std::int64_t count, float value);
// a = b = a + b: what an all_reduce of two ranks can't do without.
void add_into_both(float* a, float* b, std::int64_t count);
// to = a + b, and to = from: what the others can't do without. Large ones go past the caches.
void add(float* to, const float* a, const float* b, std::int64_t count);
void copy(float* to, const float* from, std::int64_t count);

}  // namespace hocket::comm_bench
