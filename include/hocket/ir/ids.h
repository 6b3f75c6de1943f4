// Ids of the things inside a Graph or a Program.
#pragma once

#include "hocket/base/ids.h"

namespace hocket {

using NodeId = Id<struct NodeTag>;
using StorageId = Id<struct StorageTag>;
using TypeId = Id<struct TypeTag>;
using GroupId = Id<struct GroupTag>;
using OpId = Id<struct OpTag>;
using DeviceId = Id<struct DeviceTag>;
using StringId = Id<struct StringTag>;
using StepId = Id<struct StepTag>;
using BufferId = Id<struct BufferTag>;
using OperandId = Id<struct OperandTag>;

// A run of entries in one of the pools.
struct Range {
  std::uint32_t begin = 0;
  std::uint32_t count = 0;
  friend constexpr bool operator==(Range, Range) = default;
};

}  // namespace hocket
