// Runs a graph node by node through libtorch's dispatcher, in program order, without a compiler: the reference that
// compiled programs are compared with. It is alone in the world: every group has to have one rank.
//
//   Result<std::vector<at::Tensor>> results = replay(capture.graph, {x, y, weight, bias}, capture.attributes);
#pragma once

#include <ATen/core/Tensor.h>

#include <vector>

#include "hocket/base/error.h"
#include "hocket/torch/capture.h"

namespace hocket {

// Inputs in the order of the graph's input nodes. As the step did, it writes into inputs and attributes.
Result<std::vector<at::Tensor>> replay(const Graph& graph, const std::vector<at::Tensor>& inputs,
                                       const std::vector<NamedTensor>& attributes = {});

}  // namespace hocket
