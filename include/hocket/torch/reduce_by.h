// How a collective combines the elements of several ranks, for functions on tensors.
//
//   all_reduce(x, "sum"), all_reduce(x, ReduceOp::max), all_reduce(x, premul_sum(0.25))
#pragma once

#include <string_view>

#include "hocket/comm/reduce_op.h"

namespace hocket {

struct ReduceBy {
  ReduceBy(ReduceOp its_op) : op(its_op) {}
  ReduceBy(ReduceOp its_op, double its_factor) : op(its_op), factor(its_factor) {}
  // sum, avg, product, min, max, band, bor, bxor, whatever their case. Throws if it is none of them.
  ReduceBy(std::string_view name);
  ReduceBy(const char* name) : ReduceBy(std::string_view(name)) {}

  ReduceOp op;
  double factor = 1.0;  // of premul_sum
};

// Every element times the factor, then the sum.
inline ReduceBy premul_sum(double factor) { return {ReduceOp::premul_sum, factor}; }

}  // namespace hocket
