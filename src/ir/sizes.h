// Sizes of results: the arithmetic that the shape functions share.
// Symbolic sizes take part wherever the arithmetic has an answer; elsewhere the answer is cannot_infer.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "hocket/ir/op_table.h"

namespace hocket::ops {

using Sizes = std::vector<Dim>;  // a shape or strides under construction

inline Sizes copy_of(Dims dims) { return Sizes(dims.begin(), dims.end()); }

Result<Dim> plus(const Call& call, Dim a, Dim b);
Result<Dim> minus(const Call& call, Dim a, Dim b);
Result<Dim> times(const Call& call, Dim a, Dim b);
Result<Dim> product(const Call& call, Dims dims);
// a / divisor without remainder; `what` names the size in the error.
Result<Dim> divided(const Call& call, Dim a, std::int64_t divisor, std::string_view what);
// "[2, s0, 8]", for messages.
std::string to_string(const Call& call, Dims dims);

// A dim counted from the front or, if negative, from the back. A tensor without dims has one to name.
Result<std::size_t> wrap_dim(std::int64_t dim, std::size_t rank);
Result<std::vector<std::size_t>> wrap_dims(std::span<const std::int64_t> dims, std::size_t rank);

// The common shape of two operands of a pointwise operator.
Result<Sizes> broadcast(const Call& call, Dims a, Dims b);

// The number of elements for estimates: symbolic sizes count as 0.
double count(Dims shape);

bool is_empty(Dims shape);  // has a dim of size 0

}  // namespace hocket::ops
