// The tree of a reduction. Compiled once for each instruction set.
//
// Up to Op::most_in_registers sources are combined in one pass over memory. More are combined block by block: the left and the right
// part of the tree each into a block of scratch on the stack, small enough to stay in the first-level cache, and so on downwards.

// Highway's way of #pragma once: the guard flips with every instruction set.
#if defined(HOCKET_COMM_REDUCE_TREE_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef HOCKET_COMM_REDUCE_TREE_INL_H
#undef HOCKET_COMM_REDUCE_TREE_INL_H
#else
#define HOCKET_COMM_REDUCE_TREE_INL_H
#endif

#include <hwy/highway.h>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstring>
#include <type_traits>

#include "comm/reduce_formats_inl.h"
#include "comm/reduce_kernels.h"
#include "comm/reduce_operations_inl.h"

HWY_BEFORE_NAMESPACE();
namespace hocket::HWY_NAMESPACE {

inline constexpr std::size_t scratch_bytes = 4096;

constexpr std::size_t left_part(std::size_t sources) { return std::bit_floor(sources - 1); }

// combine(first … first + sources) of one chunk.
template <class Format, std::size_t first, std::size_t sources, class Op, class D, class V = hn::Vec<D>>
HWY_INLINE void combine_chunk(const Op& op, D d, const std::byte* const* from, std::size_t offset, V& low, V& high) {
  if constexpr (sources == 1) {
    Format::load(d, from[first] + offset, low, high);
    low = op.prepare(d, low);
    high = op.prepare(d, high);
  } else {
    constexpr std::size_t left = left_part(sources);
    combine_chunk<Format, first, left>(op, d, from, offset, low, high);
    V right_low;
    V right_high;
    combine_chunk<Format, first + left, sources - left>(op, d, from, offset, right_low, right_high);
    low = op.combine(d, low, right_low);
    high = op.combine(d, high, right_high);
  }
}

// One pass over memory, from element `first` of each source on: all sources in one format, the output in the same one or another.
template <class In, class Out, std::size_t sources, class Op>
class Pass {
 public:
  static void run(const Op& op, const std::byte* const* inputs, std::size_t first, std::byte* to, std::size_t count) {
    const std::byte* from[sources];  // becomes registers
    for (std::size_t k = 0; k < sources; ++k) from[k] = inputs[k] + first * In::element_bytes;
    const D d;
    const std::size_t step = 2 * hn::Lanes(d);
    std::size_t i = 0;
    for (; i + 2 * step <= count; i += 2 * step) {
      chunk(op, d, from, to, i);
      chunk(op, d, from, to, i + step);
    }
    if (i < count) rest(op, inputs, first + i, to + i * Out::element_bytes, count - i);
  }

 private:
  static_assert(std::is_same_v<typename In::Lane, typename Out::Lane>);
  using Lane = typename In::Lane;
  using D = Tag<Lane>;

  template <class Any>
  static HWY_INLINE void chunk(const Op& op, Any d, const std::byte* const* from, std::byte* to, std::size_t i) {
    hn::Vec<Any> low;
    hn::Vec<Any> high;
    combine_chunk<In, 0, sources>(op, d, from, i * In::element_bytes, low, high);
    Out::store(d, op.finish(d, low), op.finish(d, high), to + i * Out::element_bytes);
  }

  // The last elements, fewer than two chunks, in ever smaller registers: the same arithmetic, and so the same bits.
  static HWY_NOINLINE void rest(const Op& op, const std::byte* const* inputs, std::size_t first, std::byte* to,
                                std::size_t count) {
    const std::byte* from[sources];
    for (std::size_t k = 0; k < sources; ++k) from[k] = inputs[k] + first * In::element_bytes;
    std::size_t i = 0;
    const hn::CappedTag<Lane, 16 / sizeof(Lane)> small;
    for (; i + 2 * hn::Lanes(small) <= count; i += 2 * hn::Lanes(small)) chunk(op, small, from, to, i);
    const hn::CappedTag<Lane, 1> one;
    for (; i + 2 <= count; i += 2) chunk(op, one, from, to, i);
    if (i < count) last(op, from, to, i);
  }

  // A chunk has two elements at least.
  static HWY_INLINE void last(const Op& op, const std::byte* const* from, std::byte* to, std::size_t i) {
    std::byte input[sources][2 * In::element_bytes] = {};
    std::byte output[2 * Out::element_bytes];
    const std::byte* padded[sources];
    for (std::size_t k = 0; k < sources; ++k) {
      std::memcpy(input[k], from[k] + i * In::element_bytes, In::element_bytes);
      padded[k] = input[k];
    }
    chunk(op, hn::CappedTag<Lane, 1>(), padded, output, 0);
    std::memcpy(to + i * Out::element_bytes, output, Out::element_bytes);
  }
};

template <class Format, class Op>
class Tree {
 public:
  static void run(const Op& op, Sources sources, std::size_t first, std::byte* output, std::size_t count) {
    if (sources.size() <= Op::most_in_registers) return leaves<Format, Op>(op, sources, first, output, count);
    for (std::size_t done = 0; done < count; done += block) {
      const std::size_t now = std::min(block, count - done);
      alignas(most_register_bytes) std::byte left[scratch_bytes];
      alignas(most_register_bytes) std::byte right[scratch_bytes];
      parts(op, sources, first + done, left, right, now);
      const std::byte* const both[2] = {left, right};
      Pass<Kept, Format, 2, typename Op::Last>::run(op, both, 0, output + done * Format::element_bytes, now);
    }
  }

 private:
  using Kept = Plain<typename Format::Lane>;  // scratch is never rounded
  static constexpr std::size_t block = scratch_bytes / Kept::element_bytes;

  static void parts(const Op& op, Sources sources, std::size_t first, std::byte* left, std::byte* right,
                    std::size_t count) {
    const std::size_t middle = left_part(sources.size());
    into_scratch(op, sources.first(middle), first, left, count);
    into_scratch(op, sources.subspan(middle), first, right, count);
  }

  static void into_scratch(const Op& op, Sources sources, std::size_t first, std::byte* scratch, std::size_t count) {
    if (sources.size() <= Op::most_in_registers)
      return leaves<Kept, typename Op::Leaf>(op, sources, first, scratch, count);
    alignas(most_register_bytes) std::byte right[scratch_bytes];
    parts(op, sources, first, scratch, right, count);
    const std::byte* const both[2] = {scratch, right};
    Pass<Kept, Kept, 2, typename Op::Inner>::run(op, both, 0, scratch, count);
  }

  template <class Out, class Leaf>
  static void leaves(const Leaf& op, Sources sources, std::size_t first, std::byte* output, std::size_t count) {
    const std::byte* const* const from = sources.data();
    if (sources.size() == 1) return Pass<Format, Out, 1, Leaf>::run(op, from, first, output, count);
    if (sources.size() == 2) return Pass<Format, Out, 2, Leaf>::run(op, from, first, output, count);
    if constexpr (Op::most_in_registers == 4) {
      if (sources.size() == 3) return Pass<Format, Out, 3, Leaf>::run(op, from, first, output, count);
      return Pass<Format, Out, 4, Leaf>::run(op, from, first, output, count);
    }
  }
};

// What the callers say once for all operations.
struct Range {
  Sources sources;
  std::size_t first;
  std::byte* output;
  std::size_t count;
};

template <class Format, class Op>
void reduce_by(const Op& op, const Range& range) {
  Tree<Format, Op>::run(op, range.sources, range.first, range.output, range.count);
}

// The operations that floating-point elements know.
template <class Format>
void reduce_floating(const Reduction& reduction, const Range& range) {
  using Lane = typename Format::Lane;
  switch (reduction.op) {
    case ReduceOp::avg: return reduce_by<Format>(FloatAverage<Lane>(reduction.ranks), range);
    case ReduceOp::product: return reduce_by<Format>(Product(), range);
    case ReduceOp::min: return reduce_by<Format>(Min(), range);
    case ReduceOp::max: return reduce_by<Format>(Max(), range);
    case ReduceOp::premul_sum: return reduce_by<Format>(ScaledSum<Lane>(static_cast<Lane>(reduction.factor)), range);
    default: return reduce_by<Format>(Sum(), range);
  }
}

}  // namespace hocket::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
