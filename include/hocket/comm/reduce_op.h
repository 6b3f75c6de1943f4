// How the elements of several ranks become one.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "hocket/base/dtype.h"
#include "hocket/base/error.h"

namespace hocket {

enum class ReduceOp : std::uint8_t {
  sum,
  avg,  // the sum divided by the number of ranks; integers round towards zero
  product,
  min,  // a NaN wins
  max,  // a NaN wins
  band,
  bor,
  bxor,
  premul_sum,  // every element times a factor, then the sum
};
inline constexpr int reduce_op_count = 9;

std::string_view name_of(ReduceOp op);
// Whatever its case; nothing for an unknown name.
std::optional<ReduceOp> reduce_op_from_name(std::string_view name);

// An error that says what can be reduced instead, if these elements can't be reduced this way. Booleans know no avg and no
// premul_sum; their sum is a logical or, their product a logical and.
Status check_reducible(Dtype dtype, ReduceOp op);

}  // namespace hocket
