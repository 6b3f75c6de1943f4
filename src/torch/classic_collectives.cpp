#include "hocket/torch/classic_collectives.h"

#include <ATen/ATen.h>

#include "torch/check.h"

namespace hocket {

namespace {

// In the words of the caller, where copy_ would broadcast what doesn't fit.
at::Tensor copied(const char* op, at::Tensor output, const at::Tensor& result) {
  if (output.sizes() != result.sizes()) {
    fail_call(op, "the output is {}, but the result is {}", c10::str(output.sizes()), c10::str(result.sizes()));
  }
  return output.copy_(result);
}

}  // namespace

at::Tensor all_reduce_inplace(const at::Tensor& tensor, const ReduceBy& by, const GroupArg& group) {
  return copied("all_reduce_inplace", tensor, all_reduce(tensor, by, group));
}

Tensors all_gather_inplace(const Tensors& outputs, const at::Tensor& input, const GroupArg& group) {
  const char* op = "all_gather_inplace";
  const at::Tensor gathered = all_gather_into_tensor(input.unsqueeze(0), group);
  if (static_cast<std::int64_t>(outputs.size()) != gathered.size(0)) {
    fail_call(op, "{} outputs, expected one for each of the group's {} ranks", outputs.size(), gathered.size(0));
  }
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    copied(op, outputs[i], gathered.select(0, static_cast<std::int64_t>(i)));
  }
  return outputs;
}

at::Tensor all_gather_tensor_inplace(const at::Tensor& output, const at::Tensor& input, std::int64_t gather_dim,
                                     const GroupArg& group) {
  return copied("all_gather_tensor_inplace", output, all_gather_tensor(input, gather_dim, group));
}

at::Tensor reduce_scatter_tensor_inplace(const at::Tensor& output, const at::Tensor& input, const ReduceBy& by,
                                         std::int64_t scatter_dim, const GroupArg& group) {
  return copied("reduce_scatter_tensor_inplace", output, reduce_scatter_tensor(input, by, scatter_dim, group));
}

at::Tensor all_to_all_inplace(const at::Tensor& output, const at::Tensor& input, const Splits& output_splits,
                              const Splits& input_splits, const GroupArg& group) {
  return copied("all_to_all_inplace", output, all_to_all_single(input, output_splits, input_splits, group));
}

}  // namespace hocket
