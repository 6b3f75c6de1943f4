// The groups of a captured step. A capture needs no world: it can be told of one rank among many, or of groups by name.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "hocket/comm/group.h"
#include "hocket/torch/capture.h"

namespace hocket {

struct CapturedGroup {
  GroupSpec spec;
  std::optional<std::int32_t> place;  // of the rank for which the step is captured; absent if that is not known
};

class CapturedGroups {
 public:
  explicit CapturedGroups(const CaptureOptions& options);

  // A name from the options, else a group of the world that the options or this thread have; without any world: a list of ranks,
  // a mesh or a group object. Ranks that have a name in the options go by it.
  Result<CapturedGroup> resolve(const GroupRef& ref) const;

 private:
  Result<GroupSpec> find(const GroupRef& ref) const;

  const CaptureOptions& options_;
  std::unique_ptr<GroupTable> table_;  // of the world that the options describe; null: they don't
};

}  // namespace hocket
