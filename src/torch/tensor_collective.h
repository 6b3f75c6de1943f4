// A collective on tensors as a value: what the functions of hocket/torch/collectives.h have in common.
//
// start() checks one, gives it memory for its results, and records it or carries it out; run() adds the collective that its backward
// is.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "hocket/torch/collectives.h"
#include "torch/communication.h"
#include "torch/resolved_group.h"

namespace hocket {

struct TensorCollective {
  enum class Kind { all_reduce, all_gather, reduce_scatter, all_to_all, broadcast };
  enum class Form { fresh, in_place, out };  // where the results are

  Kind kind = Kind::all_reduce;
  Form form = Form::fresh;
  bool coalesced = false;
  ResolvedGroup group = {};
  ReduceBy by = ReduceOp::sum;
  std::int64_t gather_dim = 0;  // of an all_gather
  bool has_splits = false;      // of an all_to_all; rows of dim 0
  Splits output_splits = {};
  Splits input_splits = {};
  std::int32_t source = 0;       // of a broadcast
  const char* called = nullptr;  // where it isn't the operator's name
  CollectiveAlgorithm algorithm = CollectiveAlgorithm::automatic;
  bool blocking = false;

  bool reduces() const { return kind == Kind::all_reduce || kind == Kind::reduce_scatter; }
  // "all_gather_into_tensor_coalesced", as the operator is called in _c10d_functional.
  const char* name() const;
};

// The result is there, or will be when the communication is complete; without one it is there.
struct Started {
  Tensors results;
  std::shared_ptr<Communication> communication;

  AsyncTensor one() const { return {results.at(0), communication}; }
  AsyncTensors all() const;
};

// The group's size and the inputs decide the sizes of the result.
std::vector<std::int64_t> sizes_of_result(const TensorCollective& collective, const at::Tensor& input);

// Without autograd. `results` is where the form is `out`.
Started start(const TensorCollective& collective, const Tensors& inputs, Tensors results = {});
// Records the operator and its waits in the capture that this thread is in.
Tensors record(const TensorCollective& collective, const Tensors& inputs, const Tensors& results);
// Hands the memory over to the communicator. Inputs and results are contiguous.
std::shared_ptr<Communication> communicate(const TensorCollective& collective, const Tensors& inputs,
                                           const Tensors& results);

// With autograd, where an input requires grad.
Started run(const TensorCollective& collective, const Tensors& inputs);

}  // namespace hocket
