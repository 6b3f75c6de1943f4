// Linear layers whose weight is cut over the ranks of a group: each rank computes with its part.
//
//   ColumnParallelLinear widen(width, 4 * width, {.group = mesh["tp"]});      // each rank has some of the outputs
//   RowParallelLinear narrow(4 * width, width, {.group = mesh["tp"]});        // and takes these as its inputs
//   at::Tensor y = narrow(at::gelu(widen(x)));                                // one all_reduce forward, one backward
//
// All ranks have the same x, loss and gradient of y; a gradient of x or of a bias that all have is complete on every rank. Inside
// capture() and compile() the collectives are recorded like any others.
#pragma once

#include <torch/nn/cloneable.h>
#include <torch/nn/pimpl.h>

#include <cstdint>
#include <string>

#include "hocket/comm/group_ref.h"

namespace hocket {

struct TensorParallelOptions {
  GroupRef group = "world";
  bool bias = true;
};

// The input as it is; backward: the sum of the ranks' gradients. Where something that all ranks have is used by each in its own way.
at::Tensor to_tensor_parallel(const at::Tensor& input, const GroupRef& group);
// The sum of what the ranks have; backward: the gradient as it is, which all have.
at::Tensor from_tensor_parallel(const at::Tensor& input, const GroupRef& group);
// The parts of all ranks along the last dim; backward: this rank's part of the gradient.
at::Tensor gather_tensor_parallel(const at::Tensor& input, const GroupRef& group);

// This rank's part of the outputs: [in] to [out / ranks].
class ColumnParallelLinearImpl : public torch::nn::Cloneable<ColumnParallelLinearImpl> {
 public:
  // Collective: the weights are cut from one that the first rank has made as torch::nn::Linear makes its own.
  ColumnParallelLinearImpl(std::int64_t in, std::int64_t out, TensorParallelOptions options = {});
  void reset() override;
  at::Tensor forward(const at::Tensor& input);

  at::Tensor weight;  // [out / ranks, in]
  at::Tensor bias;    // [out / ranks]

 private:
  std::int64_t in_, out_;
  TensorParallelOptions options_;
};
TORCH_MODULE(ColumnParallelLinear);

// From this rank's part of the inputs: [in / ranks] to [out], which all have.
class RowParallelLinearImpl : public torch::nn::Cloneable<RowParallelLinearImpl> {
 public:
  RowParallelLinearImpl(std::int64_t in, std::int64_t out, TensorParallelOptions options = {});
  void reset() override;
  at::Tensor forward(const at::Tensor& input);

  at::Tensor weight;  // [out, in / ranks]
  at::Tensor bias;    // [out], added once

 private:
  std::int64_t in_, out_;
  TensorParallelOptions options_;
};
TORCH_MODULE(RowParallelLinear);

}  // namespace hocket
