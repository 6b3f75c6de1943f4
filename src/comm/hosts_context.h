// What the algorithms between hosts share.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "comm/hosts_layout.h"
#include "comm/transport.h"
#include "comm/wire.h"

namespace hocket {

struct HostsOptions {
  // Bytes that leave the host at a time. Smaller ones overlap better, larger ones cost fewer messages.
  std::int64_t block = std::int64_t{256} << 10;
  // Blocks of a reduction that are under way at the same time.
  std::int32_t depth = 8;
};

// Messages of different steps of a call don't meet.
enum HostsTag : std::int32_t { tag_greeting, tag_pieces, tag_results, tag_counts, tag_data };

// All of it belongs to one call; used by one thread.
class HostsContext {
 public:
  HostsContext(Channel& channel, Transport& local, const HostsLayout& layout, const HostsOptions& options)
      : channel_(&channel), local_(&local), layout_(&layout), options_(options) {}

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
  Status wait(std::vector<RequestHandle>& requests, const GroupCall& call);

 private:
  Channel* channel_;
  Transport* local_;
  const HostsLayout* layout_;
  HostsOptions options_;
  std::uint64_t local_calls_ = 0;
};

}  // namespace hocket
