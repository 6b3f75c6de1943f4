#include "torch/values.h"

#include <algorithm>

namespace hocket {

TensorLayout TensorLayout::of(const at::Tensor& tensor) {
  return {tensor.scalar_type(), tensor.storage_offset(), tensor.sizes().vec(), tensor.strides().vec()};
}

Value* Memory::find(const TensorLayout& layout) {
  const auto found =
      std::find_if(values.begin(), values.end(), [&](const auto& entry) { return entry.first == layout; });
  return found == values.end() ? nullptr : &found->second;
}

void Memory::set(TensorLayout layout, Value value) {
  if (Value* known = find(layout)) {
    *known = value;
  } else {
    values.emplace_back(std::move(layout), value);
  }
}

void Memory::written() {
  uninitialised = false;
  for (auto& [layout, value] : values) value.stale = true;
}

Memory* ValueMap::find(const at::Tensor& tensor) {
  const auto found = index_.find(tensor.storage().unsafeGetStorageImpl());
  return found == index_.end() ? nullptr : &memories_[found->second];
}

Memory& ValueMap::find_or_add(const at::Tensor& tensor) {
  if (Memory* known = find(tensor)) return *known;
  index_.emplace(tensor.storage().unsafeGetStorageImpl(), memories_.size());
  return memories_.emplace_back(Memory{tensor.storage().getWeakStorageImpl(), memories_.size(), false, false, {}});
}

}  // namespace hocket
