// all_gather, broadcast and all_to_all between hosts, of inputs that don't fit on a card. Nothing is reduced: data goes over the
// wire straight from and into the callers' buffers.
#pragma once

#include "comm/hosts_greeting.h"

namespace hocket {

// The leaders exchange what their hosts' ranks gave, each byte once between two hosts, and hand on what comes, block by block.
Status hosts_all_gather(HostsContext& context, const GroupCall& call);
// From host to host in a chain, block by block: every host receives once and sends once, whatever their number.
Status hosts_broadcast(HostsContext& context, const GroupCall& call);
// Every rank sends to every rank of other hosts itself: no byte travels twice, and none is copied.
Status hosts_all_to_all(HostsContext& context, Greeting& greeting, const GroupCall& call);

// The bytes of a block that gives overlap enough without too many messages.
std::int64_t block_for(const HostsOptions& options, std::int64_t bytes);

}  // namespace hocket
