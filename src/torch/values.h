// Which node a tensor is the result of. Tensors come and go as TensorImpls without an operator (saved for the backward,
// .data(), .grad), so a value is known by what it is: memory, offset, sizes, strides and dtype.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <deque>
#include <unordered_map>
#include <vector>

#include "hocket/ir/ids.h"

namespace hocket {

// How a tensor lies in its memory.
struct TensorLayout {
  at::ScalarType dtype = at::ScalarType::Undefined;
  std::int64_t offset = 0;
  std::vector<std::int64_t> sizes;
  std::vector<std::int64_t> strides;

  static TensorLayout of(const at::Tensor& tensor);
  friend bool operator==(const TensorLayout&, const TensorLayout&) = default;
};

struct Value {
  NodeId node;
  int element = -1;    // of a node that results in a list; -1: the result itself
  bool stale = false;  // its memory was written after this node, through another value
};

// Memory that tensors share. The weak reference keeps the address from being used again, and does not keep the data:
// a strong one would change whether AccumulateGrad takes a gradient over or clones it.
struct Memory {
  c10::weak_intrusive_ptr<c10::StorageImpl> address;
  std::uint64_t key = 0;
  bool from_outside = false;   // there before the step
  bool uninitialised = false;  // made in the step, and not written by any captured operator yet
  std::vector<std::pair<TensorLayout, Value>> values;

  Value* find(const TensorLayout& layout);
  void set(TensorLayout layout, Value value);  // replaces what had this layout
  void written();                              // all values that are known become stale
};

class ValueMap {
 public:
  Memory* find(const at::Tensor& tensor);  // nullptr: never seen
  Memory& find_or_add(const at::Tensor& tensor);

 private:
  std::unordered_map<const c10::StorageImpl*, std::size_t> index_;  // look-up only, never iterated
  std::deque<Memory> memories_;
};

}  // namespace hocket
