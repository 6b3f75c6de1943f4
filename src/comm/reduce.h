// Reductions of memory by SIMD, for the widest instructions that the processor has.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "hocket/base/dtype.h"
#include "hocket/comm/reduce_op.h"

namespace hocket {

// What is done to the elements of all ranks.
struct Reduction {
  Dtype dtype = Dtype::f32;
  ReduceOp op = ReduceOp::sum;
  double factor = 1.0;     // of premul_sum
  std::int32_t ranks = 1;  // avg divides by it
};

// output[i] = all sources' element i combined, for i < count. check_reducible(dtype, op) holds, sources are not empty.
//
// The order is that of a tree, fixed by the number of sources alone: combine(0 … n) = combine(0 … m) ∘ combine(m … n), where m is
// the largest power of two below n. (Of 4: (a∘b)∘(c∘d); of 3: (a∘b)∘c.) So a power of two of neighbouring ranks can be
// combined on their own host first, and the bits stay the same.
//
// f16 and bf16 are combined in f32 and rounded once, to nearest even. premul_sum multiplies each element (f32 for f16 and bf16;
// integers: by the factor as an integer, rounded towards zero); avg divides at the end. Integers wrap around.
//
// Buffers need no alignment. The output may be one of the sources, but may not overlap one otherwise.
// `streaming`: the result will not be read soon; it goes past the cache.
void reduce(const Reduction& reduction, std::span<const std::byte* const> sources, std::byte* output,
            std::int64_t count, bool streaming = false);

// Copies past the cache; buffers need no alignment and don't overlap.
void copy_streaming(const std::byte* input, std::byte* output, std::int64_t bytes);
// The same without the fence at its end: the caller calls stream_fence() before it tells anybody that the copy is there.
void stream_copy(const std::byte* input, std::byte* output, std::size_t bytes);
void stream_fence();

}  // namespace hocket
