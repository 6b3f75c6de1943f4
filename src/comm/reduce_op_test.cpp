#include "hocket/comm/reduce_op.h"

#include <gmock/gmock.h>

#include <string>

namespace hocket {
namespace {

using testing::HasSubstr;

std::string said_of(Dtype dtype, ReduceOp op) {
  const Status status = check_reducible(dtype, op);
  return status ? "" : status.error().message;
}

TEST(ReduceOp, names_are_read_whatever_their_case) {
  for (int i = 0; i < reduce_op_count; ++i) {
    const auto op = static_cast<ReduceOp>(i);
    EXPECT_EQ(reduce_op_from_name(name_of(op)), op);
  }
  EXPECT_EQ(name_of(ReduceOp::premul_sum), "premul_sum");
  EXPECT_EQ(reduce_op_from_name("SUM"), ReduceOp::sum);
  EXPECT_EQ(reduce_op_from_name("Premul_Sum"), ReduceOp::premul_sum);
  EXPECT_EQ(reduce_op_from_name("summ"), std::nullopt);
  EXPECT_EQ(reduce_op_from_name("su"), std::nullopt);
  EXPECT_EQ(reduce_op_from_name(""), std::nullopt);
}

// What every pair of element type and operation has to say, from the table of the specification.
std::string expected_of(Dtype dtype, ReduceOp op) {
  const std::string by(name_of(op));
  const bool bits = op == ReduceOp::band || op == ReduceOp::bor || op == ReduceOp::bxor;
  const std::string no_bits =
      " by " + by +
      ", which works on bits of integers: use sum, avg, product, min, max or premul_sum, or view "
      "the elements as i";
  switch (dtype) {
    case Dtype::f64: return bits ? "can't reduce f64" + no_bits + "64" : "";
    case Dtype::f32: return bits ? "can't reduce f32" + no_bits + "32" : "";
    case Dtype::f16: return bits ? "can't reduce f16" + no_bits + "16" : "";
    case Dtype::bf16: return bits ? "can't reduce bf16" + no_bits + "16" : "";
    case Dtype::f8e4m3:
    case Dtype::f8e5m2: return "float8 is too coarse to add up; reduce in bf16 or f32, or gather the f8e";
    case Dtype::c64:
      return op == ReduceOp::sum || op == ReduceOp::avg ? "can't reduce c64 by " + by + ": view it as twice as many f32"
                                                        : "complex elements can only be summed and averaged";
    case Dtype::c128:
      return op == ReduceOp::sum || op == ReduceOp::avg
                 ? "can't reduce c128 by " + by + ": view it as twice as many f64"
                 : "complex elements can only be summed and averaged";
    case Dtype::boolean:
      return op == ReduceOp::avg || op == ReduceOp::premul_sum
                 ? "can't reduce bool by " + by + ": use sum, max or bor (a logical or), product, min or band"
                 : "";
    default: return "";
  }
}

TEST(ReduceOp, every_combination_is_allowed_or_says_what_is_instead) {
  for (int d = 0; d < dtype_count; ++d) {
    for (int o = 0; o < reduce_op_count; ++o) {
      const auto dtype = static_cast<Dtype>(d);
      const auto op = static_cast<ReduceOp>(o);
      const std::string expected = expected_of(dtype, op);
      SCOPED_TRACE(std::string(short_name(dtype)) + " " + std::string(name_of(op)));
      if (expected.empty()) {
        EXPECT_EQ(said_of(dtype, op), "");
      } else {
        EXPECT_THAT(said_of(dtype, op), HasSubstr(expected));
        EXPECT_EQ(check_reducible(dtype, op).error().kind, ErrorKind::usage);
      }
    }
  }
}

}  // namespace
}  // namespace hocket
