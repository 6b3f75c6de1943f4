#include "support/naive_reduce.h"

#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>

namespace hocket::naive {

namespace {

double value_of_half(std::uint16_t bits, int mantissa_bits, int bias) {
  const int exponent = (bits & 0x7fff) >> mantissa_bits;
  const int mantissa = bits & ((1 << mantissa_bits) - 1);
  const int all_ones = (1 << (15 - mantissa_bits)) - 1;
  const double sign = (bits & 0x8000) != 0 ? -1 : 1;
  if (exponent == all_ones) return mantissa == 0 ? sign * HUGE_VAL : std::nan("");
  if (exponent == 0) return sign * std::ldexp(mantissa, 1 - bias - mantissa_bits);
  return sign * std::ldexp(mantissa + (1 << mantissa_bits), exponent - bias - mantissa_bits);
}

// By searching: the largest representable size that is not above, and its neighbour, whichever is nearer or even. What
// would be the next number after the largest one is infinite.
std::uint16_t half_of_value(double value, int mantissa_bits, int bias) {
  const int infinite = ((1 << (15 - mantissa_bits)) - 1) << mantissa_bits;
  if (std::isnan(value)) return static_cast<std::uint16_t>(infinite | (1 << (mantissa_bits - 1)));
  const auto sign = static_cast<std::uint16_t>(std::signbit(value) ? 0x8000 : 0);
  const double size = std::fabs(value);
  if (std::isinf(size)) return static_cast<std::uint16_t>(sign | infinite);
  int low = 0;
  for (int step = 1 << 14; step > 0; step /= 2) {
    const int next = low + step;
    if (next < infinite && value_of_half(static_cast<std::uint16_t>(next), mantissa_bits, bias) <= size) low = next;
  }
  const double below = value_of_half(static_cast<std::uint16_t>(low), mantissa_bits, bias);
  const double above = low + 1 < infinite ? value_of_half(static_cast<std::uint16_t>(low + 1), mantissa_bits, bias)
                                          : std::ldexp(1.0, bias + 1);
  const bool up = size - below > above - size || (size - below == above - size && low % 2 == 1);
  return static_cast<std::uint16_t>(sign | (low + (up ? 1 : 0)));
}

struct HalfBits {
  std::uint16_t bits;
};
struct BrainBits {
  std::uint16_t bits;
};
struct Truth {
  std::uint8_t byte;
};

template <class T>
auto widened(T element) {
  return element;
}
auto widened(HalfBits element) { return static_cast<float>(value_of_half(element.bits, 10, 15)); }
auto widened(BrainBits element) { return static_cast<float>(value_of_half(element.bits, 7, 127)); }
auto widened(Truth element) { return element.byte != 0; }

template <class T, class Lane>
T narrowed(Lane value) {
  if constexpr (std::is_same_v<T, HalfBits>) {
    return {half_of_value(value, 10, 15)};
  } else if constexpr (std::is_same_v<T, BrainBits>) {
    return {half_of_value(value, 7, 127)};
  } else if constexpr (std::is_same_v<T, Truth>) {
    return {static_cast<std::uint8_t>(value ? 1 : 0)};
  } else if constexpr (std::is_floating_point_v<T>) {
    return std::isnan(value) ? std::numeric_limits<T>::quiet_NaN() : value;
  } else {
    return value;
  }
}

// Rounded to its type here and now, whatever the processor could do at once.
template <class Lane>
Lane rounded(Lane value) {
  volatile Lane stored = value;
  return stored;
}

template <class Lane>
Lane times(Lane a, Lane b) {
  if constexpr (std::is_floating_point_v<Lane>) {
    return rounded(static_cast<Lane>(a * b));
  } else {
    return static_cast<Lane>(static_cast<std::uint64_t>(a) * static_cast<std::uint64_t>(b));
  }
}

template <class Lane>
Lane plus(Lane a, Lane b) {
  if constexpr (std::is_floating_point_v<Lane>) {
    return rounded(static_cast<Lane>(a + b));
  } else {
    return static_cast<Lane>(static_cast<std::uint64_t>(a) + static_cast<std::uint64_t>(b));
  }
}

template <class Lane>
Lane least(Lane a, Lane b, bool most) {
  if constexpr (std::is_floating_point_v<Lane>) {
    if (std::isnan(a)) return a;
    if (std::isnan(b)) return b;
  }
  return (most ? a < b : b < a) ? b : a;
}

template <class Lane>
Lane combined(ReduceOp op, Lane a, Lane b) {
  if constexpr (std::is_same_v<Lane, bool>) {
    switch (op) {
      case ReduceOp::product:
      case ReduceOp::min:
      case ReduceOp::band: return a && b;
      case ReduceOp::bxor: return a != b;
      default: return a || b;
    }
  } else {
    if constexpr (std::is_integral_v<Lane>) {
      if (op == ReduceOp::band) return static_cast<Lane>(a & b);
      if (op == ReduceOp::bor) return static_cast<Lane>(a | b);
      if (op == ReduceOp::bxor) return static_cast<Lane>(a ^ b);
    }
    if (op == ReduceOp::product) return times(a, b);
    if (op == ReduceOp::min || op == ReduceOp::max) return least(a, b, op == ReduceOp::max);
    return plus(a, b);
  }
}

template <class Lane>
Lane tree(ReduceOp op, const std::vector<Lane>& lanes, std::size_t begin, std::size_t end) {
  if (end - begin == 1) return lanes[begin];
  std::size_t left = 1;
  while (left * 2 < end - begin) left *= 2;
  const Lane low = tree(op, lanes, begin, begin + left);
  return combined<Lane>(op, low, tree(op, lanes, begin + left, end));
}

template <class T>
T element_of(const std::byte* buffer, std::size_t i) {
  T element;
  std::memcpy(&element, buffer + i * sizeof(T), sizeof(T));
  return element;
}

template <class T>
T expected_element(const Reduction& reduction, const std::vector<const std::byte*>& sources, std::size_t i) {
  using Lane = decltype(widened(T{}));
  std::vector<Lane> lanes;
  for (const std::byte* source : sources) {
    const Lane lane = widened(element_of<T>(source, i));
    if constexpr (std::is_same_v<Lane, bool>) {
      lanes.push_back(lane);
    } else {
      const bool scales = reduction.op == ReduceOp::premul_sum;
      lanes.push_back(scales ? times(lane, static_cast<Lane>(reduction.factor)) : lane);
    }
  }
  const Lane all = tree(reduction.op, lanes, 0, lanes.size());
  if constexpr (!std::is_same_v<Lane, bool>) {
    if (reduction.op == ReduceOp::avg) {
      if constexpr (sizeof(Lane) < 4) return narrowed<T>(static_cast<Lane>(int{all} / reduction.ranks));
      return narrowed<T>(static_cast<Lane>(all / static_cast<Lane>(reduction.ranks)));
    }
    // A single source is copied, whatever NaN it has.
    if (lanes.size() == 1 && reduction.op != ReduceOp::premul_sum) return element_of<T>(sources[0], i);
  }
  return narrowed<T>(all);
}

template <class T>
Buffer expected_of(const Reduction& reduction, const std::vector<const std::byte*>& sources, std::size_t count) {
  Buffer output(count * sizeof(T));
  for (std::size_t i = 0; i < count; ++i) {
    const T element = expected_element<T>(reduction, sources, i);
    std::memcpy(output.data() + i * sizeof(T), &element, sizeof(T));
  }
  return output;
}

// Sizes near 1 among random bits, so that sums are rounded and don't all end as NaN, infinite or 0; every eighth is special.
template <class Bits>
Bits floating_bits(std::mt19937_64& random, int mantissa_bits, int bias) {
  const int size = static_cast<int>(sizeof(Bits)) * 8;
  const auto one = static_cast<Bits>(Bits{1} << mantissa_bits);
  const auto sign = static_cast<Bits>((random() % 2) << (size - 1));
  const auto mantissa = static_cast<Bits>(random() & (one - 1U));
  const auto infinite = static_cast<Bits>(static_cast<Bits>(2 * bias + 1) << mantissa_bits);
  const std::uint64_t kind = random() % 64;
  if (kind == 0) return static_cast<Bits>(sign | infinite);
  if (kind == 1) return static_cast<Bits>(sign | infinite | mantissa | 1U);                  // NaN, quiet or not
  if (kind == 2) return sign;                                                                // 0.0 or -0.0
  if (kind == 3 || kind == 4) return static_cast<Bits>(sign | mantissa);                     // subnormal
  if (kind == 5 || kind == 6) return static_cast<Bits>(sign | (infinite - one) | mantissa);  // its sum overflows
  if (kind == 7) return static_cast<Bits>(random());
  const auto exponent = static_cast<Bits>(static_cast<Bits>(bias) - 4U + random() % 8);
  return static_cast<Bits>(sign | static_cast<Bits>(exponent << mantissa_bits) | mantissa);
}

template <class Bits>
void put(std::byte* to, Bits bits) {
  std::memcpy(to, &bits, sizeof(bits));
}

}  // namespace

Buffer reduce(const Reduction& reduction, const std::vector<const std::byte*>& sources, std::size_t count) {
  switch (reduction.dtype) {
    case Dtype::f64: return expected_of<double>(reduction, sources, count);
    case Dtype::f32: return expected_of<float>(reduction, sources, count);
    case Dtype::f16: return expected_of<HalfBits>(reduction, sources, count);
    case Dtype::bf16: return expected_of<BrainBits>(reduction, sources, count);
    case Dtype::i64: return expected_of<std::int64_t>(reduction, sources, count);
    case Dtype::i32: return expected_of<std::int32_t>(reduction, sources, count);
    case Dtype::i16: return expected_of<std::int16_t>(reduction, sources, count);
    case Dtype::i8: return expected_of<std::int8_t>(reduction, sources, count);
    case Dtype::u64: return expected_of<std::uint64_t>(reduction, sources, count);
    case Dtype::u32: return expected_of<std::uint32_t>(reduction, sources, count);
    case Dtype::u16: return expected_of<std::uint16_t>(reduction, sources, count);
    case Dtype::u8: return expected_of<std::uint8_t>(reduction, sources, count);
    default: return expected_of<Truth>(reduction, sources, count);
  }
}

void fill(std::mt19937_64& random, Dtype dtype, std::byte* buffer, std::size_t count) {
  const auto size = static_cast<std::size_t>(size_of(dtype));
  for (std::size_t i = 0; i < count; ++i) {
    std::byte* const to = buffer + i * size;
    switch (dtype) {
      case Dtype::f64: put(to, floating_bits<std::uint64_t>(random, 52, 1023)); break;
      case Dtype::f32: put(to, floating_bits<std::uint32_t>(random, 23, 127)); break;
      case Dtype::f16: put(to, floating_bits<std::uint16_t>(random, 10, 15)); break;
      case Dtype::bf16: put(to, floating_bits<std::uint16_t>(random, 7, 127)); break;
      case Dtype::boolean:
        put(to, static_cast<std::uint8_t>(random() % 2 == 0 ? 0 : random() % 3 == 0 ? 255 : 1));
        break;
      default: {
        const std::uint64_t bits = random();
        std::memcpy(to, &bits, size);
      }
    }
  }
}

}  // namespace hocket::naive
