#include "hocket/torch/process_group.h"

#include "comm/world_factory.h"
#include "torch/c10d_wire.h"
#include "torch/gloo_group.h"
#include "torch/store_world.h"

namespace hocket {

namespace {

Result<std::unique_ptr<Wire>> open_gloo_wire(const LaunchInfo& launch, Deadline deadline) {
  HOCKET_TRY(const c10::intrusive_ptr<c10d::ProcessGroup> group, make_gloo_group(launch, Env::read().launch, deadline));
  return make_c10d_wire(group, GroupUse::alone, deadline);
}

}  // namespace

Result<World> join_over(const c10::intrusive_ptr<c10d::ProcessGroup>& group, WorldOptions options) {
  if (!group) return fail(ErrorKind::usage, "join_over was given no process group");
  const Deadline deadline = std::chrono::steady_clock::now() + options.join_timeout;
  HOCKET_TRY(std::shared_ptr<Wire> wire, make_c10d_wire(group, GroupUse::shared, deadline));
  return WorldFactory::join_over(launch_of(group->getRank(), group->getSize()), options, std::move(wire));
}

}  // namespace hocket

// The linker is told to want this name (HocketLibraries.cmake), so that a program gets this file though it calls nothing in it.
extern "C" {
extern const bool hocket_provides_gloo;
const bool hocket_provides_gloo = [] {
  hocket::provide_wire(hocket::Launcher::torchrun, hocket::open_gloo_wire);
  return true;
}();
}
