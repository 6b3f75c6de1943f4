#include "torch/store_world.h"

#include "comm/world_factory.h"
#include "torch/c10d_wire.h"
#include "torch/store_meeting.h"

namespace hocket {

LaunchInfo launch_of(std::int32_t rank, std::int32_t size) {
  const Result<LaunchInfo> started = launch_info(Env::read().launch);
  if (started && started->rank == rank && started->world_size == size) return *started;
  LaunchInfo info;
  info.rank = rank;
  info.world_size = size;
  return info;
}

Result<World> join_at(const c10::intrusive_ptr<c10d::Store>& store, std::int32_t rank, std::int32_t size,
                      WorldOptions options) {
  if (!store) return fail(ErrorKind::usage, "join_at was given no store");
  if (size < 1 || rank < 0 || rank >= size) {
    return fail(ErrorKind::usage, "rank {} can't be in a world of {} ranks", rank, size);
  }
  StoreMeeting meeting(store, rank, size, std::chrono::steady_clock::now() + options.join_timeout);
  HOCKET_TRY(const bool one_host, meeting.on_one_host());
  if (one_host) {
    HOCKET_TRY(const MeetingPlace place, meeting.agree_on_place());
    return WorldFactory::join_at(place, launch_of(rank, size), options);
  }
  HOCKET_TRY(const c10::intrusive_ptr<c10d::ProcessGroup> group, meeting.make_gloo_group());
  HOCKET_TRY(std::shared_ptr<Wire> wire, make_c10d_wire(group, GroupUse::alone, meeting.deadline()));
  return WorldFactory::join_over(launch_of(rank, size), options, std::move(wire));
}

}  // namespace hocket
