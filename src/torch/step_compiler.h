// Chooses how a captured step is run: passes over its graph, down to a planned program, in agreement with all ranks.
#pragma once

#include "hocket/torch/compile.h"

namespace hocket {

class StepCompiler {
 public:
  StepCompiler(const World& world, const StepOptions& options);

  // By the passes that the options name; without any, by the default passes and whatever buckets of gradients take the least time.
  Result<Compiled> compile(const Graph& graph, const CostOptions& cost) const;
  // By the passes that the options name, or the default ones as they are.
  Result<Compiled> compile_once(const Graph& graph, const CostOptions& cost) const;

 private:
  Result<Compiled> with(const std::vector<PassCall>& passes, const Graph& graph, const CostOptions& cost) const;

  const World& world_;
  const StepOptions& options_;
  PassRegistry registry_;
};

}  // namespace hocket
