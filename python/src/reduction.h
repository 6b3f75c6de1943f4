// How c10d's reduce operations are done.
#pragma once

#include <ATen/core/Tensor.h>
#include <torch/csrc/distributed/c10d/Types.hpp>

#include "hocket/comm/reduce_op.h"

namespace hocket {

struct C10dReduction {
  ReduceOp op = ReduceOp::sum;
  double factor = 1.0;  // of premul_sum
};

C10dReduction reduction_of(const char* call, const c10d::ReduceOp& op);

// The tensor as elements that can be reduced so: complex numbers as pairs of real ones. Throws ValueError if there are none.
at::Tensor reducible(const char* call, const at::Tensor& tensor, const C10dReduction& by);

}  // namespace hocket
