#include "torch/resolved_group.h"

#include "hocket/comm/world.h"
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

}  // namespace hocket
