#include "hocket/base/dtype.h"

#include <array>
#include <utility>

namespace hocket {

namespace {

enum class Category { boolean, integral, floating, complex };

struct Row {
  std::string_view short_name;
  std::string_view torch_name;
  int size;
  Category category;
};

constexpr std::array<Row, dtype_count> rows = {{
    {"f64", "float64", 8, Category::floating},
    {"f32", "float32", 4, Category::floating},
    {"f16", "float16", 2, Category::floating},
    {"bf16", "bfloat16", 2, Category::floating},
    {"f8e4m3", "float8_e4m3fn", 1, Category::floating},
    {"f8e5m2", "float8_e5m2", 1, Category::floating},
    {"i64", "int64", 8, Category::integral},
    {"i32", "int32", 4, Category::integral},
    {"i16", "int16", 2, Category::integral},
    {"i8", "int8", 1, Category::integral},
    {"u64", "uint64", 8, Category::integral},
    {"u32", "uint32", 4, Category::integral},
    {"u16", "uint16", 2, Category::integral},
    {"u8", "uint8", 1, Category::integral},
    {"bool", "bool", 1, Category::boolean},
    {"c64", "complex64", 8, Category::complex},
    {"c128", "complex128", 16, Category::complex},
}};

constexpr const Row& row(Dtype dtype) { return rows[static_cast<std::size_t>(dtype)]; }

std::optional<Dtype> find(std::string_view name, std::string_view Row::*field) {
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (rows[i].*field == name) return static_cast<Dtype>(i);
  }
  return std::nullopt;
}

bool is_unsigned_wide(Dtype dtype) { return dtype == Dtype::u64 || dtype == Dtype::u32 || dtype == Dtype::u16; }

Dtype promote_floating(Dtype a, Dtype b) {
  if (size_of(a) != size_of(b)) return size_of(a) > size_of(b) ? a : b;
  return Dtype::f32;  // f16 with bf16, and the two float8 types: neither holds the other
}

Dtype promote_integral(Dtype a, Dtype b) {
  if (a == Dtype::boolean) return b;
  if (b == Dtype::boolean) return a;
  // u8 with a signed type needs a signed type that holds both; the wide unsigned types only combine with themselves
  if (a == Dtype::u8 && b == Dtype::i8) return Dtype::i16;
  if (b == Dtype::u8 && a == Dtype::i8) return Dtype::i16;
  if (is_unsigned_wide(a) != is_unsigned_wide(b) && size_of(a) == size_of(b)) return is_unsigned_wide(a) ? b : a;
  return size_of(a) >= size_of(b) ? a : b;
}

}  // namespace

int size_of(Dtype dtype) { return row(dtype).size; }
std::string_view short_name(Dtype dtype) { return row(dtype).short_name; }
std::string_view torch_name(Dtype dtype) { return row(dtype).torch_name; }
std::optional<Dtype> dtype_from_short_name(std::string_view name) { return find(name, &Row::short_name); }
std::optional<Dtype> dtype_from_torch_name(std::string_view name) { return find(name, &Row::torch_name); }

bool is_floating(Dtype dtype) { return row(dtype).category == Category::floating; }
bool is_complex(Dtype dtype) { return row(dtype).category == Category::complex; }
bool is_integral(Dtype dtype) {
  return row(dtype).category == Category::integral || row(dtype).category == Category::boolean;
}

Dtype promote(Dtype a, Dtype b) {
  if (a == b) return a;
  if (row(a).category < row(b).category) std::swap(a, b);
  if (is_complex(a)) return a == Dtype::c128 || b == Dtype::c128 || b == Dtype::f64 ? Dtype::c128 : Dtype::c64;
  if (is_floating(a)) return is_floating(b) ? promote_floating(a, b) : a;
  return promote_integral(a, b);
}

}  // namespace hocket
