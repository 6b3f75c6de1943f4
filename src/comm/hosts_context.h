// What the algorithms between hosts share.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "comm/hosts_alarm.h"
#include "comm/hosts_layout.h"
#include "comm/hosts_tags.h"
#include "comm/transport.h"
#include "comm/wire.h"

namespace hocket {

struct HostsOptions {
  // Bytes that leave the host at a time, of a copy and of a reduction: a little less than the 64 KiB that Open MPI sends over
  // TCP without asking first. The answer would have to wait for a leader that is combining, or that the ranks' compute keeps from
  // its core. With 128 KiB a reduction took 1.4 times as long (./hk bench hosts); with 256 KiB an all_gather under the compute of
  // a training step took twice as long.
  std::int64_t block = std::int64_t{60} << 10;
  std::int64_t message = std::int64_t{60} << 10;
  // Blocks of a reduction that are under way at the same time. With 4 it took 1.2 times as long, 16 gained nothing.
  std::int32_t depth = 8;
};

// All of it belongs to one call; used by one thread.
class HostsContext {
 public:
  HostsContext(Channel& channel, Transport& local, HostsAlarm& alarm, const HostsLayout& layout,
               const HostsOptions& options)
      : channel_(&channel), local_(&local), alarm_(&alarm), layout_(&layout), options_(options) {}

  const HostsLayout& layout() const { return *layout_; }
  const HostsOptions& options() const { return options_; }
  std::int32_t rank_of(std::int32_t place) const { return channel_->ranks()[static_cast<std::size_t>(place)]; }

  // A call of this host's own group, on behalf of `call`: with its own number, and the time that is left.
  Status run_local(GroupCall own, const GroupCall& call);
  // Plain bytes from one of this host's ranks to all of them.
  Status broadcast_local(const void* input, void* output, std::int64_t bytes, std::int32_t root, const GroupCall& call);

  // Begins a message and appends it. An empty one is left out: both ends know that it is.
  Status send(std::vector<RequestHandle>& requests, const std::byte* data, std::int64_t bytes, std::int32_t place,
              HostsTag tag);
  Status receive(std::vector<RequestHandle>& requests, std::byte* data, std::int64_t bytes, std::int32_t place,
                 HostsTag tag);
  // Until all are complete, unless the call fails before: parts of a large call, which come in its rhythm.
  Status wait_for(std::span<const RequestHandle> requests, const GroupCall& call);
  // The same, and drops them.
  Status wait(std::vector<RequestHandle>& requests, const GroupCall& call);
  // The same for a few bytes that everybody waits for.
  Status wait_promptly(std::span<const RequestHandle> requests, const GroupCall& call);
  // An error if the call can't go on, whoever has found out. For those who wait on the wire.
  Status look() { return alarm_->check(); }
  Rhythm& rhythm() { return rhythm_; }

 private:
  Channel* channel_;
  Transport* local_;
  HostsAlarm* alarm_;
  const HostsLayout* layout_;
  HostsOptions options_;
  Rhythm rhythm_;
  std::uint64_t local_calls_ = 0;
};

}  // namespace hocket
