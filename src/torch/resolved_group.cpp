#include "torch/resolved_group.h"

#include "hocket/comm/world.h"
#include "torch/arguments.h"
#include "torch/check.h"
#include "torch/dispatch.h"

namespace hocket {

ResolvedGroup resolve_group(const char* op, const GroupArg& group, bool communicates) {
  ResolvedGroup resolved;
  resolved.site = group.site();
  if (Recorder* recorder = current_recorder()) {
    CapturedGroup captured = value_or_throw(op, recorder->resolve(group.ref()));
    resolved.size = static_cast<std::int64_t>(captured.spec.ranks.size());
    resolved.name = std::move(captured.spec.name);
    resolved.place = captured.place;
    return resolved;
  }
  const World world = value_or_throw(op, World::current());
  resolved.handle = value_or_throw(op, world.group(group.ref()));
  resolved.name = resolved.handle->name();
  resolved.size = resolved.handle->size();
  resolved.place = resolved.handle->place();
  if (communicates) resolved.communicator = value_or_throw(op, world.communicator(resolved.handle));
  return resolved;
}

bool check_tensors(const char* op, const std::vector<at::Tensor>& tensors) {
  for (const at::Tensor& tensor : tensors) {
    if (!tensor.defined()) fail_call(op, "an undefined tensor was given");
    if (tensor.layout() != at::kStrided) {
      fail_call(op, "a tensor of layout {} can't be communicated; make it dense", c10::str(tensor.layout()));
    }
    if (!tensor.is_cpu() && !tensor.is_meta()) {
      fail_call(op, "a tensor on {}: hocket communicates tensors on the CPU; move it with tensor.cpu()",
                tensor.device().str());
    }
    if (tensor.device() != tensors[0].device()) {
      fail_call(op, "tensors on {} and {} in one call", tensors[0].device().str(), tensor.device().str());
    }
    if (!dtype_of(tensor.scalar_type())) {
      fail_call(op, "a tensor of dtype {} can't be communicated", c10::toString(tensor.scalar_type()));
    }
  }
  return !tensors.empty() && tensors[0].is_cpu() && current_recorder() == nullptr;
}

}  // namespace hocket
