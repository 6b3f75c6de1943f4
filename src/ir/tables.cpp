#include "hocket/ir/tables.h"

#include <xxhash.h>

#include <algorithm>

namespace hocket {

TypeView Tables::type(TypeId id) const {
  const TensorType& type = types_[id.index()];
  const auto dims = std::span(dims_).subspan(type.dims_begin, 2 * std::size_t{type.rank});
  return {type.dtype, dims.first(type.rank), dims.last(type.rank), 0};
}

std::size_t Tables::tables_memory() const {
  const auto held = [](const auto& vector) { return vector.capacity() * sizeof(vector[0]); };
  return held(ops_) + held(types_) + held(dims_) + held(pool_.args) + held(pool_.keywords) + pool_.strings.memory();
}

TypeId TablesBuilder::type(Dtype dtype, Dims shape, Dims strides) {
  XXH64_hash_t hash = XXH3_64bits_withSeed(shape.data(), shape.size_bytes(), static_cast<XXH64_hash_t>(dtype));
  hash = XXH3_64bits_withSeed(strides.data(), strides.size_bytes(), hash);
  std::vector<TypeId>& candidates = type_index_[hash];
  for (const TypeId candidate : candidates) {
    const TypeView known = tables_.type(candidate);
    if (known.dtype == dtype && std::ranges::equal(known.shape, shape) && std::ranges::equal(known.strides, strides))
      return candidate;
  }
  tables_.types_.push_back(
      {dtype, static_cast<std::uint32_t>(shape.size()), static_cast<std::uint32_t>(tables_.dims_.size())});
  tables_.dims_.insert(tables_.dims_.end(), shape.begin(), shape.end());
  tables_.dims_.insert(tables_.dims_.end(), strides.begin(), strides.end());
  candidates.emplace_back(tables_.types_.size() - 1);
  return candidates.back();
}

DeviceId TablesBuilder::device(std::string_view name) {
  const auto found = std::find(tables_.devices_.begin(), tables_.devices_.end(), name);
  if (found != tables_.devices_.end()) return DeviceId(static_cast<std::size_t>(found - tables_.devices_.begin()));
  tables_.devices_.emplace_back(name);
  return DeviceId(tables_.devices_.size() - 1);
}

OpId TablesBuilder::op(std::string_view full_name) {
  const auto [entry, is_new] = op_index_.try_emplace(std::string(full_name), OpId(tables_.ops_.size()));
  if (is_new) tables_.ops_.push_back({tables_.pool_.strings.add(full_name), tables_.table_->find(full_name)});
  return entry->second;
}

std::optional<GroupId> TablesBuilder::find_group(std::string_view name) const {
  const auto& groups = tables_.groups_;
  const auto found = std::find_if(groups.begin(), groups.end(), [&](const Group& group) { return group.name == name; });
  if (found == groups.end()) return std::nullopt;
  return GroupId(static_cast<std::size_t>(found - groups.begin()));
}

}  // namespace hocket
