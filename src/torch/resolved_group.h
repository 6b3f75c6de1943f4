// The group of one call of a collective on tensors.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "hocket/comm/communicator.h"
#include "hocket/torch/group_arg.h"

namespace hocket {

struct ResolvedGroup {
  std::string name;
  std::int64_t size = 0;
  std::optional<std::int32_t> place;         // of this rank; absent in a capture that was not told
  GroupHandle handle;                        // null in a capture
  std::optional<Communicator> communicator;  // absent where nothing is communicated: in a capture, and for meta tensors
  CallSite site;
};

// In the capture that this thread is in, else in the current world. Throws CollectiveError, which begins with `op`.
ResolvedGroup resolve_group(const char* op, const GroupArg& group, bool communicates);

// Throws if they can't be communicated. Are they to be, or are only shapes wanted, on meta and in a capture?
bool check_tensors(const char* op, const std::vector<at::Tensor>& tensors);

}  // namespace hocket
