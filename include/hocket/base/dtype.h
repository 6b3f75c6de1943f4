// Element types. `f32` in program text is `float32` in captured graphs.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace hocket {

enum class Dtype : std::uint8_t {
  f64,
  f32,
  f16,
  bf16,
  f8e4m3,
  f8e5m2,
  i64,
  i32,
  i16,
  i8,
  u64,
  u32,
  u16,
  u8,
  boolean,
  c64,
  c128,
};

inline constexpr int dtype_count = 17;

int size_of(Dtype dtype);                  // bytes of one element
std::string_view short_name(Dtype dtype);  // "bf16"
std::string_view torch_name(Dtype dtype);  // "bfloat16"
std::optional<Dtype> dtype_from_short_name(std::string_view name);
std::optional<Dtype> dtype_from_torch_name(std::string_view name);

bool is_floating(Dtype dtype);
bool is_complex(Dtype dtype);
bool is_integral(Dtype dtype);  // integers and bool

// What PyTorch computes in when it combines two tensors of these types (dimensions aside).
Dtype promote(Dtype a, Dtype b);

}  // namespace hocket
