#include "comm/hosts_halves.h"

#include <bit>
#include <cstring>

namespace hocket {

namespace {

constexpr std::uint32_t bias_difference = 112U << 23U;  // of the exponents of f32 and f16, where f32 has its exponent

float from_f16(std::uint32_t half) {
  const std::uint32_t sign = (half & 0x8000U) << 16U;
  const std::uint32_t size = half & 0x7fffU;
  if (size < 0x0400U) {  // subnormal: counts steps of 2^-24
    const float value = static_cast<float>(size) * 0x1p-24F;
    return std::bit_cast<float>(std::bit_cast<std::uint32_t>(value) | sign);
  }
  const std::uint32_t normal = (size << 13U) + bias_difference;
  return std::bit_cast<float>(sign | (size > 0x7bffU ? normal + bias_difference : normal));
}

std::uint32_t to_f16(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t sign = bits >> 16U & 0x8000U;
  const std::uint32_t size = bits & 0x7fff'ffffU;
  if (size > 0x7f80'0000U) return 0x7e00U;
  if (size >= 0x4780'0000U) return sign | 0x7c00U;  // 2^16 and beyond
  if (size < 0x3880'0000U) {                        // below 2^-14; next to 0.5 an f32 has steps of 2^-24, too
    const float shifted = std::bit_cast<float>(size) + 0.5F;
    return sign | (std::bit_cast<std::uint32_t>(shifted) - std::bit_cast<std::uint32_t>(0.5F));
  }
  const std::uint32_t odd = size >> 13U & 1U;
  return sign | ((size - bias_difference + 0x0fffU + odd) >> 13U);  // may carry into infinity, as it should
}

float from_bf16(std::uint32_t half) { return std::bit_cast<float>(half << 16U); }

std::uint32_t to_bf16(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  if ((bits & 0x7fff'ffffU) > 0x7f80'0000U) return 0x7fc0U;
  return (bits + 0x7fffU + (bits >> 16U & 1U)) >> 16U;
}

template <class From>
void widen_all(const std::byte* halves, float* floats, std::int64_t count, From from) {
  for (std::int64_t i = 0; i < count; ++i) {
    std::uint16_t half = 0;
    std::memcpy(&half, halves + i * 2, sizeof half);
    floats[i] = from(half);
  }
}

template <class To>
void narrow_all(const float* floats, std::byte* halves, std::int64_t count, To to) {
  for (std::int64_t i = 0; i < count; ++i) {
    const auto half = static_cast<std::uint16_t>(to(floats[i]));
    std::memcpy(halves + i * 2, &half, sizeof half);
  }
}

}  // namespace

void widen(Dtype dtype, const std::byte* halves, float* floats, std::int64_t count) {
  if (dtype == Dtype::f16) widen_all(halves, floats, count, from_f16);
  else widen_all(halves, floats, count, from_bf16);
}

void narrow(Dtype dtype, const float* floats, std::byte* halves, std::int64_t count) {
  if (dtype == Dtype::f16) narrow_all(floats, halves, count, to_f16);
  else narrow_all(floats, halves, count, to_bf16);
}

}  // namespace hocket
