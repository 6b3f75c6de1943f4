#include "hocket/base/dtype.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <array>
#include <sstream>
#include <string>

namespace hocket {
namespace {

Dtype dtype(int index) { return static_cast<Dtype>(index); }

// torch.promote_types of PyTorch 2.13, columns in the order of the rows; "-" where PyTorch refuses.
constexpr std::array<const char*, dtype_count> promotions = {
    "f64    f64  f64  f64  f64  -      -      f64  f64  f64  f64  f64  f64  f64  f64  f64  c128 c128",
    "f32    f64  f32  f32  f32  -      -      f32  f32  f32  f32  f32  f32  f32  f32  f32  c64  c128",
    "f16    f64  f32  f16  f32  -      -      f16  f16  f16  f16  f16  f16  f16  f16  f16  c64  c128",
    "bf16   f64  f32  f32  bf16 -      -      bf16 bf16 bf16 bf16 bf16 bf16 bf16 bf16 bf16 c64  c128",
    "f8e4m3 -    -    -    -    f8e4m3 -      -    -    -    -    -    -    -    -    -    -    -",
    "f8e5m2 -    -    -    -    -      f8e5m2 -    -    -    -    -    -    -    -    -    -    -",
    "i64    f64  f32  f16  bf16 -      -      i64  i64  i64  i64  -    -    -    i64  i64  c64  c128",
    "i32    f64  f32  f16  bf16 -      -      i64  i32  i32  i32  -    -    -    i32  i32  c64  c128",
    "i16    f64  f32  f16  bf16 -      -      i64  i32  i16  i16  -    -    -    i16  i16  c64  c128",
    "i8     f64  f32  f16  bf16 -      -      i64  i32  i16  i8   -    -    -    i16  i8   c64  c128",
    "u64    f64  f32  f16  bf16 -      -      -    -    -    -    u64  -    -    -    -    -    -",
    "u32    f64  f32  f16  bf16 -      -      -    -    -    -    -    u32  -    -    -    -    -",
    "u16    f64  f32  f16  bf16 -      -      -    -    -    -    -    -    u16  -    -    -    -",
    "u8     f64  f32  f16  bf16 -      -      i64  i32  i16  i16  -    -    -    u8   u8   c64  c128",
    "bool   f64  f32  f16  bf16 -      -      i64  i32  i16  i8   -    -    -    u8   bool c64  c128",
    "c64    c128 c64  c64  c64  -      -      c64  c64  c64  c64  -    -    -    c64  c64  c64  c128",
    "c128   c128 c128 c128 c128 -      -      c128 c128 c128 c128 -    -    -    c128 c128 c128 c128",
};

TEST(Dtype, promotes_as_pytorch_does) {
  for (int a = 0; a < dtype_count; ++a) {
    std::istringstream row(promotions[static_cast<std::size_t>(a)]);
    std::string name;
    row >> name;
    ASSERT_EQ(name, short_name(dtype(a)));
    for (int b = 0; b < dtype_count; ++b) {
      row >> name;
      if (name == "-") continue;
      EXPECT_EQ(short_name(promote(dtype(a), dtype(b))), name)
          << short_name(dtype(a)) << " with " << short_name(dtype(b));
    }
  }
}

TEST(Dtype, promotion_does_not_depend_on_the_order) {
  for (int a = 0; a < dtype_count; ++a) {
    for (int b = 0; b < dtype_count; ++b) {
      EXPECT_EQ(promote(dtype(a), dtype(b)), promote(dtype(b), dtype(a)))
          << short_name(dtype(a)) << " with " << short_name(dtype(b));
    }
  }
}

TEST(Dtype, is_found_by_both_of_its_names) {
  for (int i = 0; i < dtype_count; ++i) {
    EXPECT_EQ(dtype_from_short_name(short_name(dtype(i))), dtype(i));
    EXPECT_EQ(dtype_from_torch_name(torch_name(dtype(i))), dtype(i));
  }
  EXPECT_EQ(torch_name(Dtype::f8e4m3), "float8_e4m3fn");
  EXPECT_EQ(short_name(Dtype::boolean), "bool");
}

TEST(Dtype, has_no_other_names) {
  for (const char* name : {"", "F32", "float", "f128", "float32 ", "int"}) {
    EXPECT_FALSE(dtype_from_short_name(name)) << name;
    EXPECT_FALSE(dtype_from_torch_name(name)) << name;
  }
  EXPECT_FALSE(dtype_from_short_name("float32"));
  EXPECT_FALSE(dtype_from_torch_name("f32"));
}

TEST(Dtype, has_one_category_and_the_size_of_its_name) {
  for (int i = 0; i < dtype_count; ++i) {
    const Dtype type = dtype(i);
    EXPECT_EQ((is_floating(type) ? 1 : 0) + (is_complex(type) ? 1 : 0) + (is_integral(type) ? 1 : 0), 1)
        << short_name(type);
  }
  EXPECT_TRUE(is_integral(Dtype::boolean));
  EXPECT_EQ(size_of(Dtype::boolean), 1);
  EXPECT_EQ(size_of(Dtype::f8e5m2), 1);
  EXPECT_EQ(size_of(Dtype::bf16), 2);
  EXPECT_EQ(size_of(Dtype::u32), 4);
  EXPECT_EQ(size_of(Dtype::c64), 8);
  EXPECT_EQ(size_of(Dtype::c128), 16);
}

}  // namespace
}  // namespace hocket
