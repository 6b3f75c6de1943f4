#include "torch/sharded_parameters.h"

#include <ATen/ATen.h>
#include <c10/util/strides.h>
#include <torch/nn/modules/container/modulelist.h>
#include <torch/nn/modules/container/sequential.h>

#include <algorithm>
#include <functional>
#include <unordered_set>

#include "hocket/comm/world.h"
#include "hocket/torch/data_parallel.h"
#include "hocket/torch/symmetric_tensor.h"
#include "torch/check.h"
#include "torch/differentiable.h"
#include "torch/dispatch.h"

namespace hocket {

namespace {

constexpr const char* who = "fully_shard";
constexpr std::int64_t alignment = 64;

// The layers of lists, at any depth, but not the lists inside of such a layer.
void find_layers(const torch::nn::Module& module, std::vector<std::shared_ptr<torch::nn::Module>>& layers) {
  const bool is_list =
      module.as<torch::nn::ModuleListImpl>() != nullptr || module.as<torch::nn::SequentialImpl>() != nullptr;
  for (const auto& child : module.children()) {
    if (is_list) layers.push_back(child);
    else find_layers(*child, layers);
  }
}

std::int64_t bytes_of_part(const ShardLayout& layout, const at::Tensor& like) {
  const std::int64_t bytes = c10::multiply_integers(layout.part()) * static_cast<std::int64_t>(like.itemsize());
  return (bytes + alignment - 1) / alignment * alignment;
}

// The parameters of a module, each once: tied ones have the first of their names.
struct NamedParameters {
  explicit NamedParameters(const torch::nn::Module& module) {
    for (const auto& named : module.named_parameters()) {
      const at::Tensor& parameter = named.value();
      if (!parameter.is_cpu()) fail_call(who, "{} is on {}, expected cpu", named.key(), parameter.device().str());
      if (names.emplace(parameter.unsafeGetTensorImpl(), named.key()).second) all.push_back(parameter);
    }
  }

  Tensors all;
  std::unordered_map<const c10::TensorImpl*, std::string> names;
};

// First those that belong to no unit, then those of each unit that has any; a parameter of several units is the first one's.
std::vector<Tensors> parameters_by_unit(const NamedParameters& named,
                                        const std::vector<std::shared_ptr<torch::nn::Module>>& units) {
  std::vector<Tensors> by_unit(1);
  std::unordered_set<const c10::TensorImpl*> taken;
  for (const auto& unit : units) {
    by_unit.emplace_back();
    for (const at::Tensor& parameter : unit->parameters()) {
      if (!named.names.contains(parameter.unsafeGetTensorImpl())) {
        fail_call(who, "a unit is the module {}, which is not part of the module that is sharded", unit->name());
      }
      if (taken.insert(parameter.unsafeGetTensorImpl()).second) by_unit.back().push_back(parameter);
    }
    if (by_unit.back().empty()) by_unit.pop_back();
  }
  for (const at::Tensor& parameter : named.all) {
    if (!taken.contains(parameter.unsafeGetTensorImpl())) by_unit[0].push_back(parameter);
  }
  return by_unit;
}

}  // namespace

ShardedParameters::State::State(torch::nn::Module& module, const ShardOptions& its_options) : options(its_options) {
  group = value_or_throw(who, value_or_throw(who, World::current()).group(options.group));
  for (const auto& buffer : module.named_buffers()) buffers.emplace_back(buffer.key(), buffer.value());
  const NamedParameters named(module);
  for (const auto& of : {std::optional(options.group), options.replicas}) {
    if (!of) continue;
    broadcast_tensors(named.all, *of);
    broadcast_tensors(module.buffers(), *of);
  }
  if (options.units.empty()) find_layers(module, options.units);
  const std::vector<Tensors> by_unit = parameters_by_unit(named, options.units);
  options.units.clear();  // they hold the model
  for (const Tensors& of_unit : by_unit) {
    units.emplace_back();
    cut(units.back(), of_unit);
    for (const std::size_t i : units.back().parameters) {
      parameters[i].name = named.names.at(parameters[i].part.unsafeGetTensorImpl());
    }
    if (units.size() > 1) order.push_back(units.size() - 1);
  }
  number_parameters();
}

// The parts of a unit are neighbours in memory that the other ranks of this host read.
void ShardedParameters::State::cut(ShardUnit& unit, const std::vector<at::Tensor>& parameters_of_module) {
  const at::AutoGradMode no_grad(false);
  std::vector<ShardLayout> layouts;
  std::int64_t bytes = 0;
  for (const at::Tensor& parameter : parameters_of_module) {
    layouts.emplace_back(parameter.sizes(), group->size());
    bytes += bytes_of_part(layouts.back(), parameter);
  }
  if (bytes == 0) return;
  const at::Tensor memory = symmetric_empty({bytes}, at::kByte, options.group);
  std::int64_t at = 0;
  for (std::size_t i = 0; i < layouts.size(); ++i) {
    at::Tensor parameter = parameters_of_module[i];
    const at::TensorOptions like = parameter.options().requires_grad(false);
    const std::vector<std::int64_t>& sizes = layouts[i].part();
    at::Tensor part = at::empty({0}, like).set_(memory.storage(), at / static_cast<std::int64_t>(parameter.itemsize()),
                                                sizes, c10::contiguous_strides(sizes));
    at += bytes_of_part(layouts[i], parameter);
    part.copy_(layouts[i].part_of(parameter.detach(), group->place()));
    parameter.set_data(part);
    at::Tensor converted;
    if (options.compute_dtype && parameter.is_floating_point() && parameter.scalar_type() != *options.compute_dtype) {
      converted = symmetric_empty(sizes, like.dtype(*options.compute_dtype), options.group);
    }
    unit.parameters.push_back(parameters.size());
    parameters.push_back({"", parameter, layouts[i], converted});
  }
}

void ShardedParameters::State::number_parameters() {
  places.resize(parameters.size());
  for (std::size_t u = 0; u < units.size(); ++u) {
    for (std::size_t position = 0; position < units[u].parameters.size(); ++position) {
      places[units[u].parameters[position]] = {false, u, position};
    }
  }
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    alone.push_back({{i}});
    number_of.emplace(parameters[i].part.unsafeGetTensorImpl(), i);
  }
}

ShardedParameters::State::Place ShardedParameters::State::place_of(std::size_t parameter) const {
  if (current_recorder() != nullptr) return {true, parameter, 0};
  return places[parameter];
}

// ---- Gathering

at::Tensor ShardedParameters::State::sent(ShardedParameter& parameter) const {
  if (!parameter.converted.defined()) return parameter.part.detach();
  if (current_recorder() != nullptr) return parameter.part.to(parameter.converted.scalar_type());
  return parameter.converted.copy_(parameter.part);
}

void ShardedParameters::State::start_gathering(ShardUnit& unit) {
  if (unit.parameters.empty() || !unit.whole.empty() || !unit.under_way.empty()) return;
  const at::AutoGradMode no_grad(false);
  Tensors parts;
  for (const std::size_t i : unit.parameters) parts.push_back(sent(parameters[i]));
  if (parts.size() == 1) unit.under_way.push_back(all_gather_into_tensor(parts[0], options.group));
  else unit.under_way = all_gather_into_tensor_coalesced(parts, options.group);
}

const Tensors& ShardedParameters::State::gathered(const Place& place) {
  ShardUnit& unit = unit_at(place);
  if (!unit.whole.empty()) return unit.whole;
  start_gathering(unit);
  const at::AutoGradMode no_grad(false);
  for (std::size_t i = 0; i < unit.under_way.size(); ++i) {
    const at::Tensor parts = unit.under_way[i].wait();
    unit.whole.push_back(parameters[unit.parameters[i]].layout.whole_of(parts));
    gathered_in[parts.storage().unsafeGetStorageImpl()] = {place.captured, place.unit, i};
  }
  unit.under_way.clear();
  return unit.whole;
}

void ShardedParameters::State::release(ShardUnit& unit) {
  for (const at::Tensor& whole : unit.whole) gathered_in.erase(whole.storage().unsafeGetStorageImpl());
  try {
    wait_tensors(unit.under_way);  // gathered ahead and never used
  } catch (const CollectiveError&) {
    // A group that has failed says so at its next call, and nobody misses these.
  }
  unit.under_way.clear();
  unit.whole.clear();
  unit.connected.clear();
}

void ShardedParameters::State::release_all() {
  for (ShardUnit& unit : units) release(unit);
  for (ShardUnit& unit : alone) release(unit);
}

// Is what the forward is through with let go of?
bool ShardedParameters::State::reshards() const {
  return !at::GradMode::is_enabled() || (options.reshard_after_forward && KeepSavedTensors::possible());
}

// The forward has come to this unit: it is through with the one before, and the next can be on its way.
void ShardedParameters::State::enter(std::size_t unit) {
  if (unit == 0 || (!seen.empty() && seen.back() == unit)) return;
  if (!seen.empty() && reshards()) release(units[seen.back()]);
  seen.push_back(unit);
  start_gathering(units[unit]);
  prefetch(unit, +1);
}

void ShardedParameters::State::prefetch(std::size_t unit, std::ptrdiff_t step) {
  const auto found = std::find(order.begin(), order.end(), unit);
  if (found == order.end()) return;
  const std::ptrdiff_t next = found - order.begin() + step;
  if (next >= 0 && next < std::ssize(order)) start_gathering(units[order[static_cast<std::size_t>(next)]]);
}

void ShardedParameters::State::begin_forward() {
  if (depth++ > 0) return;
  release_all();
  pending.clear();  // of a backward that failed
  seen.clear();
  if (current_recorder() != nullptr) return;
  start_gathering(units[0]);
  if (!order.empty()) start_gathering(units[order[0]]);
}

void ShardedParameters::State::end_forward() {
  if (--depth > 0) return;
  for (ShardUnit& unit : units) unit.connected.clear();  // they hold the graph, which holds this
  if (current_recorder() != nullptr || !at::GradMode::is_enabled()) release_all();
  // A unit that was used again later is gathered on demand there.
  std::vector<std::size_t> once;
  for (const std::size_t unit : seen) {
    if (std::find(once.begin(), once.end(), unit) == once.end()) once.push_back(unit);
  }
  if (!once.empty()) order = std::move(once);
}

// ---- The forward

bool ShardedParameters::State::replaces(const at::Tensor& given) const {
  return given.defined() && number_of.contains(given.unsafeGetTensorImpl());
}

at::Tensor ShardedParameters::State::instead_of(const at::Tensor& given) {
  const std::size_t parameter = number_of.at(given.unsafeGetTensorImpl());
  const Place place = place_of(parameter);
  if (!place.captured) enter(place.unit);
  const Tensors& whole = gathered(place);
  if (!at::GradMode::is_enabled() || !given.requires_grad()) return whole[place.position];
  connect(place);
  return unit_at(place).connected[place.position];
}

void ShardedParameters::State::connect(const Place& place) {
  ShardUnit& unit = unit_at(place);
  if (!unit.connected.empty()) return;
  Tensors parts, results;
  std::vector<std::size_t> learned;
  for (std::size_t i = 0; i < unit.whole.size(); ++i) {
    unit.connected.push_back(unit.whole[i].detach());
    const ShardedParameter& parameter = parameters[unit.parameters[i]];
    if (!parameter.part.requires_grad()) continue;
    parts.push_back(parameter.part);
    results.push_back(unit.connected.back());
    learned.push_back(unit.parameters[i]);
  }
  set_backward(parts, results, who, [self = shared_from_this(), place, learned](const Tensors& gradients) {
    return self->take_gradients(place, learned, gradients);
  });
}

Restore ShardedParameters::State::let_go_of(const at::Tensor& saved) {
  if (!options.reshard_after_forward || !saved.has_storage()) return nullptr;
  const auto found = gathered_in.find(saved.storage().unsafeGetStorageImpl());
  if (found == gathered_in.end()) return nullptr;
  const Place place = found->second;
  if (saved.scalar_type() != unit_at(place).whole[place.position].scalar_type()) return nullptr;
  return [self = shared_from_this(), place, sizes = saved.sizes().vec(), strides = saved.strides().vec(),
          offset = saved.storage_offset()] {
    const at::AutoGradMode no_grad(false);
    if (!place.captured) self->start_gathering(self->units[place.unit]);
    if (!place.captured && place.unit > 0) self->prefetch(place.unit, -1);
    return self->gathered(place)[place.position].as_strided(sizes, strides, offset);
  };
}

}  // namespace hocket
