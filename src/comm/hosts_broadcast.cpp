#include <algorithm>

#include "comm/hosts_copying.h"
#include "comm/parts.h"

namespace hocket {

namespace {

// Hosts stand in a chain that begins at the root's.
struct Chain {
  Chain(const HostsLayout& layout, std::int32_t root) {
    const std::int32_t hosts = layout.hosts();
    const std::int32_t position = (layout.host() - layout.host_of(root) + hosts) % hosts;
    begins = position == 0;
    ends = position == hosts - 1;
    before = layout.leader((layout.host() + hosts - 1) % hosts);
    after = layout.leader((layout.host() + 1) % hosts);
  }
  bool begins = false;
  bool ends = false;
  std::int32_t before = 0;  // places of leaders
  std::int32_t after = 0;
};

}  // namespace

Status hosts_broadcast(HostsContext& context, const GroupCall& call) {
  const HostsLayout& layout = context.layout();
  const Chain chain(layout, call.root);
  const Transfer& part = call.parts().front();
  const std::int64_t bytes = part.count * size_of(call.dtype);
  const std::int64_t block = block_for(context.options(), bytes);
  std::vector<RequestHandle> incoming;
  std::vector<RequestHandle> sends;
  if (layout.leads() && !chain.begins) {
    for (std::int64_t first = 0; first < bytes; first += block) {
      const std::int64_t size = std::min(block, bytes - first);
      HOCKET_CHECK(context.receive(incoming, output_at(part, first), size, chain.before, tag_data));
    }
  }
  const std::int32_t local_root = chain.begins ? layout.local_index(call.root) : 0;
  const bool is_root = call.root == layout.place();
  for (std::int64_t first = 0; first < bytes; first += block) {
    const std::int64_t size = std::min(block, bytes - first);
    std::byte* const at = output_at(part, first);
    const auto pass_on = [&]() -> Status {
      if (!layout.leads() || chain.ends) return {};
      return context.send(sends, at, size, chain.after, tag_data);
    };
    if (layout.leads() && !chain.begins) {
      const auto index = static_cast<std::size_t>(first / block);
      HOCKET_CHECK(context.wait_for({&incoming[index], 1}, call));
      HOCKET_CHECK(pass_on());
    }
    HOCKET_CHECK(context.broadcast_local(is_root ? input_at(part, first) : at, at, size, local_root, call));
    if (chain.begins) HOCKET_CHECK(pass_on());
  }
  return context.wait(sends, call);
}

}  // namespace hocket
