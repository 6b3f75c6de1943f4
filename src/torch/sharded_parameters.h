// What fully_shard() does: parameters in parts, whole while they are used.
//
// The forward gets whole parameters by ReplaceArguments; autograd saves how to gather them again instead of the whole ones; and the
// node that connects the whole parameters with their parts averages the gradients when the backward has all of a unit.
#pragma once

#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "hocket/comm/group.h"
#include "hocket/torch/collectives.h"
#include "hocket/torch/fully_shard.h"
#include "torch/replace_arguments.h"
#include "torch/saved_tensors.h"
#include "torch/shard_layout.h"

namespace hocket {

struct ShardedParameter {
  std::string name;
  at::Tensor part;  // the parameter of the module
  ShardLayout layout;
  at::Tensor converted;  // the part in compute_dtype, to be gathered; absent: the part itself
};

// Parameters that are gathered together.
struct ShardUnit {
  std::vector<std::size_t> parameters;
  AsyncTensors under_way = {};  // all parts of each
  Tensors whole = {};
  Tensors connected = {};  // the same memory, with a backward
};

struct ShardedParameters::State final : ArgumentReplacer, SavedTensorKeeper, std::enable_shared_from_this<State> {
  State(torch::nn::Module& module, const ShardOptions& its_options);

  bool replaces(const at::Tensor& given) const override;
  at::Tensor instead_of(const at::Tensor& given) override;
  Restore let_go_of(const at::Tensor& saved) override;

  void begin_forward();
  void end_forward();

  // Where a parameter is among the units. Captures have a unit for each parameter.
  struct Place {
    bool captured = false;
    std::size_t unit = 0;
    std::size_t position = 0;
  };
  Place place_of(std::size_t parameter) const;
  ShardUnit& unit_at(const Place& place) { return (place.captured ? alone : units)[place.unit]; }

  // Construction
  void cut(ShardUnit& unit, const std::vector<at::Tensor>& parameters_of_module);
  void number_parameters();

  // Gathering
  at::Tensor sent(ShardedParameter& parameter) const;
  void start_gathering(ShardUnit& unit);
  const Tensors& gathered(const Place& place);
  void release(ShardUnit& unit);
  void release_all();
  bool reshards() const;
  void enter(std::size_t unit);
  void prefetch(std::size_t unit, std::ptrdiff_t step);
  void connect(const Place& place);

  // Gradients
  Tensors take_gradients(const Place& place, const std::vector<std::size_t>& of, const Tensors& gradients);
  at::Tensor to_reduce(const ShardedParameter& parameter, const at::Tensor& gradient) const;
  Tensors averaged(const AsyncTensors& scattered) const;
  void end_backward();

  ShardOptions options;
  GroupHandle group;
  std::vector<ShardedParameter> parameters;
  std::vector<NamedTensor> buffers;
  // The first has what belongs to no other, and stays whole from the forward to the backward.
  std::vector<ShardUnit> units;
  std::vector<ShardUnit> alone;  // one for each parameter
  std::vector<Place> places;     // of the parameters in `units`
  std::unordered_map<const c10::TensorImpl*, std::size_t> number_of;
  std::unordered_map<const c10::StorageImpl*, Place> gathered_in;

  std::vector<std::size_t> order;  // of the units in the last forward, without the first unit
  std::vector<std::size_t> seen;   // in this forward
  int depth = 0;                   // of Forward scopes

  struct Pending {
    std::vector<std::size_t> parameters;
    AsyncTensors averages;
  };
  std::vector<Pending> pending;
};

}  // namespace hocket
