// f16 and bf16 as f32 and back. Partial sums travel between hosts as f32, so that they are rounded once, at the end.
#pragma once

#include <cstddef>
#include <cstdint>

#include "hocket/base/dtype.h"

namespace hocket {

inline bool is_half(Dtype dtype) { return dtype == Dtype::f16 || dtype == Dtype::bf16; }

// Exact; a NaN stays one. Buffers need no alignment and don't overlap.
void widen(Dtype dtype, const std::byte* halves, float* floats, std::int64_t count);
// To nearest even; every NaN becomes the positive quiet one.
void narrow(Dtype dtype, const float* floats, std::byte* halves, std::int64_t count);

}  // namespace hocket
