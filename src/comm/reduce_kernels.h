// The reductions of each family of element types, for the best instruction set of the machine. Behind reduce.h; not for others.
//
// How the files hang together: reduce_tree_inl.h walks the tree, with the memory formats of reduce_formats_inl.h and the
// operations of reduce_operations_inl.h. Highway compiles them again for every instruction set, inside reduce_floats.cpp,
// reduce_float16.cpp, reduce_bfloat16.cpp, reduce_ordered.cpp and reduce_integers.cpp. All instruction sets give the same bits.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "comm/reduce.h"

namespace hocket {

using Sources = std::span<const std::byte* const>;

// Reduces `count` elements from element `first` of each source on; output[0] belongs to `first`. Ordinary stores.
void reduce_floats(const Reduction& reduction, Sources sources, std::size_t first, std::byte* output,
                   std::size_t count);  // f64 f32
void reduce_float16(const Reduction& reduction, Sources sources, std::size_t first, std::byte* output,
                    std::size_t count);
void reduce_bfloat16(const Reduction& reduction, Sources sources, std::size_t first, std::byte* output,
                     std::size_t count);
// Integers: min, max and avg, which know a sign.
void reduce_ordered(const Reduction& reduction, Sources sources, std::size_t first, std::byte* output,
                    std::size_t count);
// All other operations on integers; booleans.
void reduce_integers(const Reduction& reduction, Sources sources, std::size_t first, std::byte* output,
                     std::size_t count);

// The factor of a premul_sum of integers, modulo 2^64: rounded towards zero, the nearest integer of 64 bits where it is too large
// for one, 0 for NaN. Smaller integers take its lower bits.
std::uint64_t integer_factor(double factor);

}  // namespace hocket
