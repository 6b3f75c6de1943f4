// How elements lie in memory, and how they come into registers and back. Compiled once for each instruction set.
//
// A format moves one chunk at a time: two registers of its Lane, `low` and `high`. Which of the chunk's elements stands in which
// lane is the format's own affair: the arithmetic does not care, and load and store agree.

// Highway's way of #pragma once: the guard flips with every instruction set.
#if defined(HOCKET_COMM_REDUCE_FORMATS_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef HOCKET_COMM_REDUCE_FORMATS_INL_H
#undef HOCKET_COMM_REDUCE_FORMATS_INL_H
#else
#define HOCKET_COMM_REDUCE_FORMATS_INL_H
#endif

#include <hwy/highway.h>

#include <cstddef>
#include <cstdint>
#include <cstring>

HWY_BEFORE_NAMESPACE();
namespace hocket::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Registers of at most 64 bytes, so that buffers on the stack have a known size.
inline constexpr std::size_t most_register_bytes = 64;
template <class Lane>
using Tag = hn::CappedTag<Lane, most_register_bytes / sizeof(Lane)>;

#if HWY_TARGET == HWY_SCALAR  // one lane in a register, which can't become bytes

template <class D>
HWY_INLINE hn::Vec<D> load_bytes(D d, const std::byte* from) {
  hn::TFromD<D> lane;
  std::memcpy(&lane, from, sizeof(lane));
  return hn::Set(d, lane);
}

template <class D>
HWY_INLINE void store_bytes(D, hn::Vec<D> value, std::byte* to) {
  const hn::TFromD<D> lane = hn::GetLane(value);
  std::memcpy(to, &lane, sizeof(lane));
}

#else

template <class D>
HWY_INLINE hn::Vec<D> load_bytes(D d, const std::byte* from) {
  const hn::Repartition<std::uint8_t, D> bytes;
  return hn::BitCast(d, hn::LoadU(bytes, reinterpret_cast<const std::uint8_t*>(from)));
}

template <class D>
HWY_INLINE void store_bytes(D, hn::Vec<D> value, std::byte* to) {
  const hn::Repartition<std::uint8_t, D> bytes;
  hn::StoreU(hn::BitCast(bytes, value), bytes, reinterpret_cast<std::uint8_t*>(to));
}

#endif

// Elements that are computed with as they are.
template <class Element>
struct Plain {
  using Lane = Element;
  static constexpr std::size_t element_bytes = sizeof(Element);

  template <class D, class V = hn::Vec<D>>
  static HWY_INLINE void load(D d, const std::byte* from, V& low, V& high) {
    low = load_bytes(d, from);
    high = load_bytes(d, from + hn::Lanes(d) * sizeof(Element));
  }

  template <class D, class V = hn::Vec<D>>
  static HWY_INLINE void store(D d, V low, V high, std::byte* to) {
    store_bytes(d, low, to);
    store_bytes(d, high, to + hn::Lanes(d) * sizeof(Element));
  }
};

// The upper half of an f32. Even elements in `low`, odd ones in `high`: no element has to cross a lane.
struct Bfloat16 {
  using Lane = float;
  static constexpr std::size_t element_bytes = 2;

  template <class D, class V = hn::Vec<D>>
  static HWY_INLINE void load(D d, const std::byte* from, V& low, V& high) {
    const hn::RebindToUnsigned<D> words;
    const auto pairs = load_bytes(words, from);
    low = hn::BitCast(d, hn::ShiftLeft<16>(pairs));
    high = hn::BitCast(d, hn::And(pairs, hn::Set(words, 0xffff'0000U)));
  }

  template <class D, class V = hn::Vec<D>>
  static HWY_INLINE void store(D d, V low, V high, std::byte* to) {
    const hn::RebindToUnsigned<D> words;
    const auto even = hn::ShiftRight<16>(rounded(d, low));
    const auto odd = hn::And(rounded(d, high), hn::Set(words, 0xffff'0000U));
    store_bytes(words, hn::Or(even, odd), to);
  }

 private:
  // To nearest even, in the upper 16 bits; the lower ones are rubbish. The NaN that operations give (see settled()) stays one.
  template <class D>
  static HWY_INLINE auto rounded(D, hn::Vec<D> value) {
    const hn::RebindToUnsigned<D> words;
    const auto bits = hn::BitCast(words, value);
    const auto odd = hn::And(hn::ShiftRight<16>(bits), hn::Set(words, 1U));
    return hn::Add(bits, hn::Add(odd, hn::Set(words, 0x7fffU)));
  }
};

#if HWY_ARCH_X86 && HWY_TARGET <= HWY_AVX2  // better instruction sets have lower numbers; these convert by F16C

struct Float16 {
  using Lane = float;
  static constexpr std::size_t element_bytes = 2;

  template <class D, class V = hn::Vec<D>>
  static HWY_INLINE void load(D d, const std::byte* from, V& low, V& high) {
    const hn::Rebind<hwy::float16_t, D> halves;
    low = hn::PromoteTo(d, load_half(halves, from));
    high = hn::PromoteTo(d, load_half(halves, from + hn::Lanes(d) * element_bytes));
  }

  template <class D, class V = hn::Vec<D>>
  static HWY_INLINE void store(D d, V low, V high, std::byte* to) {
    const hn::Rebind<hwy::float16_t, D> halves;
    store_half(halves, hn::DemoteTo(halves, low), to);
    store_half(halves, hn::DemoteTo(halves, high), to + hn::Lanes(d) * element_bytes);
  }

 private:
  template <class D>
  static HWY_INLINE hn::Vec<D> load_half(D d, const std::byte* from) {
    return hn::LoadU(d, reinterpret_cast<const hwy::float16_t*>(from));
  }
  template <class D>
  static HWY_INLINE void store_half(D d, hn::Vec<D> value, std::byte* to) {
    hn::StoreU(value, d, reinterpret_cast<hwy::float16_t*>(to));
  }
};

#else

// By integer arithmetic, since Highway's own conversion knows neither infinities nor NaN on these instruction sets. Never through
// an f32 that is subnormal, which a program may have told its processor to flush to zero. Even elements in `low`.
struct Float16 {
  using Lane = float;
  static constexpr std::size_t element_bytes = 2;

  template <class D, class V = hn::Vec<D>>
  static HWY_INLINE void load(D d, const std::byte* from, V& low, V& high) {
    const hn::RebindToUnsigned<D> words;
    const auto pairs = load_bytes(words, from);
    low = widened(d, hn::And(pairs, hn::Set(words, 0xffffU)));
    high = widened(d, hn::ShiftRight<16>(pairs));
  }

  template <class D, class V = hn::Vec<D>>
  static HWY_INLINE void store(D d, V low, V high, std::byte* to) {
    const hn::RebindToUnsigned<D> words;
    store_bytes(words, hn::Or(narrowed(d, low), hn::ShiftLeft<16>(narrowed(d, high))), to);
  }

 private:
  static constexpr std::uint32_t exponent_shift = 112U << 23U;  // f32's bias less f16's, where an f32 has its exponent

  template <class D, class W>
  static HWY_INLINE hn::Vec<D> widened(D d, W half) {
    const hn::RebindToUnsigned<D> words;
    const hn::RebindToSigned<D> integers;
    const auto sign = hn::ShiftLeft<16>(hn::And(half, hn::Set(words, 0x8000U)));
    const auto size = hn::And(half, hn::Set(words, 0x7fffU));
    const auto signed_size = hn::BitCast(integers, size);
    const auto subnormal =
        hn::BitCast(words, hn::Mul(hn::ConvertTo(d, signed_size), hn::Set(d, 0x1p-24F)));  // counts in steps of 2^-24
    const auto shift = hn::Set(words, exponent_shift);
    const auto normal = hn::Add(hn::ShiftLeft<13>(size), shift);
    const auto is_subnormal = hn::Lt(signed_size, hn::Set(integers, 0x0400));
    const auto is_special = hn::Gt(signed_size, hn::Set(integers, 0x7bff));  // infinite or NaN
    const auto special = hn::IfThenElse(hn::RebindMask(words, is_special), hn::Add(normal, shift), normal);
    return hn::BitCast(d, hn::Or(sign, hn::IfThenElse(hn::RebindMask(words, is_subnormal), subnormal, special)));
  }

  template <class D>
  static HWY_INLINE hn::Vec<hn::RebindToUnsigned<D>> narrowed(D d, hn::Vec<D> value) {
    const hn::RebindToUnsigned<D> words;
    const hn::RebindToSigned<D> integers;
    const auto bits = hn::BitCast(words, value);
    const auto sign = hn::And(hn::ShiftRight<16>(bits), hn::Set(words, 0x8000U));
    const auto size = hn::And(bits, hn::Set(words, 0x7fff'ffffU));
    const auto odd = hn::And(hn::ShiftRight<13>(size), hn::Set(words, 1U));
    const auto rounding = hn::Add(odd, hn::Set(words, 0x0fffU));
    const auto normal = hn::ShiftRight<13>(hn::Add(hn::Sub(size, hn::Set(words, exponent_shift)), rounding));
    const auto finite_or_infinite = hn::Min(hn::BitCast(integers, normal), hn::Set(integers, 0x7c00));
    // Next to 0.5 an f32 has steps of 2^-24, as subnormal f16 have: the addition rounds.
    const auto half = hn::Set(d, 0.5F);
    const auto subnormal =
        hn::Sub(hn::BitCast(integers, hn::Add(hn::BitCast(d, size), half)), hn::BitCast(integers, half));
    const auto signed_size = hn::BitCast(integers, size);
    const auto is_subnormal = hn::Lt(signed_size, hn::Set(integers, 0x3880'0000));  // below 2^-14
    const auto is_nan = hn::Gt(signed_size, hn::Set(integers, 0x7f80'0000));
    const auto number = hn::IfThenElse(is_subnormal, subnormal, finite_or_infinite);
    return hn::Or(sign, hn::BitCast(words, hn::IfThenElse(is_nan, hn::Set(integers, 0x7e00), number)));
  }
};

#endif

}  // namespace hocket::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
