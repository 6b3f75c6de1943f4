// Captures what a C++ function does with tensors as a Graph: forward, backward and optimizer, operator by operator.
//
//   Result<Capture> step = capture(train_step, {x, y}, {.name = "mlp", .parameters = named_tensors(*model)});
//   if (step) fmt::print("{}", print(step->graph));
//
// Tensors on the device meta have a shape and no data: nothing is computed, and a model of any size fits. With real
// tensors the step runs once; what it wrote into its arguments, parameters and their .grad is put back afterwards.
// Collectives are recorded and never carried out. Numbers that the host computes (a learning rate, Adam's count of
// steps) are constants of the graph.
#pragma once

#include <ATen/core/Tensor.h>

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "hocket/base/error.h"
#include "hocket/ir/graph.h"

namespace hocket {

// A group of ranks that a graph calls by this name.
struct GroupSpec {
  std::string name = {};
  std::vector<int> ranks = {};
};

using NamedTensor = std::pair<std::string, at::Tensor>;
using StepFunction = std::function<std::vector<at::Tensor>(const std::vector<at::Tensor>&)>;

struct CaptureOptions {
  std::string name = "step";                  // of the graph
  std::vector<std::string> input_names = {};  // of the example inputs, in their order; the others are called input_0, …
  std::vector<NamedTensor> parameters = {};  // what it reads and writes besides its arguments: inputs of the graph too
  std::vector<GroupSpec> groups =
      {};                        // that the step may name; other groups are of the current world, or lists of ranks
  std::string device = "cpu";    // where the tensors will be for which meta tensors stand
  std::int64_t world_size = -1;  // -1: not said
  std::int64_t rank = -1;
};

struct Capture {
  Graph graph;
  // Tensors that the step used without having been told of them, as they were before it: one for each attribute node.
  std::vector<NamedTensor> attributes;
};

// The inputs of the graph are the example inputs, then the parameters. An operator that cannot be captured, because it
// makes the program depend on data (item(), nonzero()) or takes something that a graph cannot hold, is an error that
// names it. Never throws.
Result<Capture> capture(const StepFunction& step, const std::vector<at::Tensor>& example_inputs,
                        const CaptureOptions& options = {});

// The parameters and buffers of a torch::nn::Module.
template <class Module>
std::vector<NamedTensor> named_tensors(const Module& module) {
  std::vector<NamedTensor> tensors;
  for (const auto& parameter : module.named_parameters()) tensors.emplace_back(parameter.key(), parameter.value());
  for (const auto& buffer : module.named_buffers()) tensors.emplace_back(buffer.key(), buffer.value());
  return tensors;
}

// While one lives, tensors that this thread makes without naming a device are on meta: a module is built without data.
//
//   torch::nn::Linear layer{nullptr};
//   { OnMeta scope; layer = torch::nn::Linear(65536, 65536); }
class OnMeta {
 public:
  OnMeta();
  ~OnMeta();
  OnMeta(const OnMeta&) = delete;
  OnMeta& operator=(const OnMeta&) = delete;

 private:
  struct Guard;
  std::unique_ptr<Guard> guard_;
};

}  // namespace hocket
