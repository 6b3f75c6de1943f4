// What is done to elements in registers. Compiled once for each instruction set.
//
// An operation has three steps: prepare() for each element that was read, combine() at each inner node of the tree, finish() at
// its root. Where the tree is too large for one pass over memory, each kind of pass has an operation of its own, as simple as can
// be, so that many share it: Leaf prepares, Inner only combines, Last finishes. Their finish() may be called more than once.

// Highway's way of #pragma once: the guard flips with every instruction set.
#if defined(HOCKET_COMM_REDUCE_OPERATIONS_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef HOCKET_COMM_REDUCE_OPERATIONS_INL_H
#undef HOCKET_COMM_REDUCE_OPERATIONS_INL_H
#else
#define HOCKET_COMM_REDUCE_OPERATIONS_INL_H
#endif

#include <hwy/highway.h>

#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "comm/reduce_formats_inl.h"

HWY_BEFORE_NAMESPACE();
namespace hocket::HWY_NAMESPACE {

// Which NaN comes out of an addition of two is up to the processor and to the order in which a compiler names the operands.
// So every NaN becomes the same one.
template <class D>
HWY_INLINE hn::Vec<D> settled(D d, hn::Vec<D> value) {
  using Lane = hn::TFromD<D>;
  if constexpr (std::is_floating_point_v<Lane>) {
    return hn::IfThenElse(hn::IsNaN(value), hn::Set(d, std::numeric_limits<Lane>::quiet_NaN()), value);
  } else {
    return value;
  }
}

// For what no instruction does to a whole register: `with` on each lane, in a loop that compilers vectorise where they can.
template <class D, class With>
HWY_INLINE hn::Vec<D> by_lane(D d, hn::Vec<D> a, hn::Vec<D> b, With with) {
  using Lane = hn::TFromD<D>;
  alignas(most_register_bytes) Lane left[most_register_bytes / sizeof(Lane)];
  alignas(most_register_bytes) Lane right[most_register_bytes / sizeof(Lane)];
  hn::Store(a, d, left);
  hn::Store(b, d, right);
  for (std::size_t i = 0; i < hn::Lanes(d); ++i) left[i] = with(left[i], right[i]);
  return hn::Load(d, left);
}

struct WrappingProduct {
  template <class Lane>
  HWY_INLINE Lane operator()(Lane a, Lane b) const {
    using Wide =
        std::conditional_t<sizeof(Lane) == 8, std::uint64_t, std::uint32_t>;  // a small one would become an int
    return static_cast<Lane>(static_cast<Wide>(a) * static_cast<Wide>(b));
  }
};

template <class D>
HWY_INLINE hn::Vec<D> product(D d, hn::Vec<D> a, hn::Vec<D> b) {
  using Lane = hn::TFromD<D>;
  if constexpr (std::is_floating_point_v<Lane> || sizeof(Lane) == 2 || sizeof(Lane) == 4) {
    return hn::Mul(a, b);
  } else {
    return by_lane(d, a, b, WrappingProduct());
  }
}

// Keeps g++ from making one instruction of a multiplication and the addition that follows it, which would round once instead of
// twice, where there is such an instruction. (clang does that only inside one expression.)
template <class D>
HWY_INLINE hn::Vec<D> unfused(hn::Vec<D> value) {
#if HWY_COMPILER_GCC_ACTUAL && HWY_ARCH_X86
  if constexpr (std::is_floating_point_v<hn::TFromD<D>>) asm("" : "+x"(value.raw));
#elif HWY_COMPILER_GCC_ACTUAL && HWY_ARCH_ARM
  if constexpr (std::is_floating_point_v<hn::TFromD<D>>) asm("" : "+w"(value.raw));
#endif
  return value;
}

template <class Self>
struct Operation {
  using Leaf = Self;
  using Inner = Self;
  using Last = Self;
  static constexpr std::size_t most_in_registers = 2;  // sources in one pass; 2 or 4
  template <class D>
  HWY_INLINE hn::Vec<D> prepare(D, hn::Vec<D> value) const {
    return value;
  }
  template <class D>
  HWY_INLINE hn::Vec<D> finish(D d, hn::Vec<D> value) const {
    return settled(d, value);
  }
};

struct Sum : Operation<Sum> {
  static constexpr std::size_t most_in_registers =
      4;  // the operation that has to be fast; each pass is more to compile
  template <class D>
  HWY_INLINE hn::Vec<D> combine(D, hn::Vec<D> a, hn::Vec<D> b) const {
    return hn::Add(a, b);
  }
};

struct Product : Operation<Product> {
  template <class D>
  HWY_INLINE hn::Vec<D> combine(D d, hn::Vec<D> a, hn::Vec<D> b) const {
    return product(d, a, b);
  }
};

// Of equal ones the first (0.0 and -0.0 are equal). Not by the instructions of that name: each processor's have ideas of their own
// about NaN and -0.0.
struct Min : Operation<Min> {
  template <class D>
  HWY_INLINE hn::Vec<D> combine(D, hn::Vec<D> a, hn::Vec<D> b) const {
    if constexpr (std::is_floating_point_v<hn::TFromD<D>>) {
      return hn::IfThenElse(hn::Or(hn::Le(a, b), hn::IsNaN(a)), a, b);
    } else {
      return hn::Min(a, b);
    }
  }
};

struct Max : Operation<Max> {
  template <class D>
  HWY_INLINE hn::Vec<D> combine(D, hn::Vec<D> a, hn::Vec<D> b) const {
    if constexpr (std::is_floating_point_v<hn::TFromD<D>>) {
      return hn::IfThenElse(hn::Or(hn::Ge(a, b), hn::IsNaN(a)), a, b);
    } else {
      return hn::Max(a, b);
    }
  }
};

struct BitAnd : Operation<BitAnd> {
  template <class D>
  HWY_INLINE hn::Vec<D> combine(D, hn::Vec<D> a, hn::Vec<D> b) const {
    return hn::And(a, b);
  }
};

struct BitOr : Operation<BitOr> {
  template <class D>
  HWY_INLINE hn::Vec<D> combine(D, hn::Vec<D> a, hn::Vec<D> b) const {
    return hn::Or(a, b);
  }
};

struct BitXor : Operation<BitXor> {
  template <class D>
  HWY_INLINE hn::Vec<D> combine(D, hn::Vec<D> a, hn::Vec<D> b) const {
    return hn::Xor(a, b);
  }
};

// Booleans: every byte but 0 is true, what is written is 0 or 1.
template <class Bits>
struct Logical : Bits {
  using Leaf = Logical;
  template <class D>
  HWY_INLINE hn::Vec<D> prepare(D d, hn::Vec<D> value) const {
    return hn::Min(value, hn::Set(d, std::uint8_t{1}));
  }
};

template <class Lane>
struct ScaledSum : Sum {
  using Leaf = ScaledSum;
  explicit ScaledSum(Lane by) : factor(by) {}
  template <class D>
  HWY_INLINE hn::Vec<D> prepare(D d, hn::Vec<D> value) const {
    return unfused<D>(product(d, value, hn::Set(d, factor)));
  }
  Lane factor;
};

// A power of two divides to the same bits by a multiplication, which is several times faster.
template <class Lane>
struct FloatAverage : Sum {
  using Last = FloatAverage;
  explicit FloatAverage(std::int32_t ranks)
      : divisor(static_cast<Lane>(ranks)),
        reciprocal(Lane{1} / divisor),
        exact(std::has_single_bit(static_cast<std::uint32_t>(ranks))) {}
  template <class D>
  HWY_INLINE hn::Vec<D> finish(D d, hn::Vec<D> sum) const {
    return settled(d, exact ? hn::Mul(sum, hn::Set(d, reciprocal)) : hn::Div(sum, hn::Set(d, divisor)));
  }
  Lane divisor;
  Lane reciprocal;
  bool exact;
};

struct Quotient {
  std::int32_t ranks;  // may be more than a small Lane can hold
  template <class Lane>
  HWY_INLINE Lane operator()(Lane a, Lane) const {
    using Wide = std::conditional_t<std::is_same_v<Lane, std::uint64_t>, std::uint64_t, std::int64_t>;
    return static_cast<Lane>(static_cast<Wide>(a) / static_cast<Wide>(ranks));
  }
};

struct IntegerAverage : Sum {
  using Last = IntegerAverage;
  static constexpr std::size_t most_in_registers = 2;
  explicit IntegerAverage(std::int32_t by) : quotient{by} {}
  template <class D>
  HWY_INLINE hn::Vec<D> finish(D d, hn::Vec<D> sum) const {
    return by_lane(d, sum, sum, quotient);
  }
  Quotient quotient;
};

}  // namespace hocket::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
