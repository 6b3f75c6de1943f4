// What a pointwise operator makes of its operands: PyTorch's type promotion, broadcasting and layout.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "ir/layout.h"

namespace hocket::ops {

// A tensor, or a Python number: a number only decides the dtype where its kind (bool < integer < real < complex) is higher.
struct Operand {
  std::optional<TypeView> tensor;
  Dtype dtype = Dtype::f32;  // of a number: boolean, i64 or f32
};

Result<Operand> operand(const Call& call, Param param);
Result<Operand> operand(const Call& call, const Arg& arg, std::string_view what);

// The dtype in which PyTorch combines them. Tensors with dims come before tensors without, those before numbers.
Dtype common_dtype(std::span<const Operand> operands);

// How the result's dtype follows from the common one.
enum class ResultDtype : std::uint8_t {
  common,     // add
  counted,    // pow: booleans become i64
  real,       // exp: integers become f32
  magnitude,  // abs: complex becomes real
  boolean,    // eq
  complex,    // complex(real, imaginary)
};
Dtype result_dtype(ResultDtype rule, Dtype common);

// The fresh result of a pointwise operator on these operands.
Result<InferredType> pointwise_result(const Call& call, std::span<const Operand> operands, ResultDtype rule);
// The same with the dtype given.
Result<InferredType> pointwise_result(const Call& call, std::span<const Operand> operands, Dtype dtype);

}  // namespace hocket::ops
