// The ways in which a rank of hocket can train a model.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "hocket/comm/world.h"
#include "models.h"

namespace hocket::train_bench {

// A model of its own, and one step of training it.
struct Way {
  std::function<Result<double>()> step;                      // the loss before it
  std::function<Status()> finish = [] { return Status(); };  // what steps have left
  // Of compiled steps only, in bytes: planned; by how much the process grew; and what had been taken before at first use, once for all
  // steps: by kernels that met tensors of these sizes (oneDNN's primitives and scratch memory) and by the compiler (its tables).
  std::vector<double> memory = {};
  double predicted_ns = 0;  // a compiled step by the cost model
  // Of the last run of a compiled step, in nanoseconds: until its first collective, and all that is no communication.
  std::function<std::vector<double>()> last_run = [] { return std::vector<double>(); };
};

// alone       no communication
// streaming   as alone, while as many bytes as there are in all gradients go and come over a plain socket: no data-parallel step over
//             this link, on these cores, can take less
// communication      one all_reduce of all gradients, and no computation
// blocking    one all_reduce after the other when the backward is done
// ddp, fsdp   DistributedDataParallel and fully_shard(), step by step
// compiled, compiled_fsdp      the same two, compiled
// compiled_across      as compiled, with StepOptions::across_steps
// `address`: of rank 0 on the link, for `streaming`.
Result<Way> make_way(const std::string& name, const std::string& model, const World& world, const std::string& address);

}  // namespace hocket::train_bench
