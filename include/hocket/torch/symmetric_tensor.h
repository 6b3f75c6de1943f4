// Tensors in memory that all ranks of a group on one host see. Collectives on them copy nothing in, without being told.
//
//   at::Tensor buffer = symmetric_empty({1024, 1024}, at::kFloat, "dp");   // on every rank of the group
//   two_shot_all_reduce_(buffer, "sum", "dp");
#pragma once

#include <ATen/core/Tensor.h>

#include "hocket/torch/collectives.h"

namespace hocket {

// Collective: the same sizes and dtype on every rank. The memory goes back to the group with the last tensor on it; before the next
// symmetric_empty, every rank has let go of the same ones. In a capture it is an ordinary tensor, which the compiler places.
at::Tensor symmetric_empty(at::IntArrayRef sizes, const at::TensorOptions& options, const GroupArg& group = "world");

// Does its memory come from symmetric_empty()?
bool is_symmetric(const at::Tensor& tensor);

// All-reduce by one algorithm, in the caller's thread: the least latency. They return when they are complete, and have no
// backward. One-shot: every rank reads all inputs. Two-shot: every rank reduces one part, and all get all parts; on symmetric tensors
// without a copy.
at::Tensor one_shot_all_reduce(const at::Tensor& input, const ReduceBy& by, const GroupArg& group = "world");
at::Tensor one_shot_all_reduce_out(const at::Tensor& input, const ReduceBy& by, const at::Tensor& out,
                                   const GroupArg& group = "world");
at::Tensor two_shot_all_reduce_(const at::Tensor& tensor, const ReduceBy& by, const GroupArg& group = "world");
at::Tensor two_shot_all_reduce_out(const at::Tensor& input, const ReduceBy& by, const at::Tensor& out,
                                   const GroupArg& group = "world");
// Copies the input into the buffer first, which is as large or larger.
at::Tensor one_shot_all_reduce_copy(const at::Tensor& buffer, const at::Tensor& input, const ReduceBy& by,
                                    const GroupArg& group = "world");
at::Tensor one_shot_all_reduce_copy_out(const at::Tensor& buffer, const at::Tensor& input, const ReduceBy& by,
                                        const at::Tensor& out, const GroupArg& group = "world");

}  // namespace hocket
