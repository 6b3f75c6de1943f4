// The steps of a reduction between hosts that stay inside one.
#pragma once

#include "comm/hosts_reduce.h"

namespace hocket {

// Combines the inputs of this host's ranks, at the leader: flight.own is where they then are, which for a single rank is its input.
Status combine_on_host(HostsContext& context, const Combiner& combiner, Flight& flight, const GroupCall& call);
// Gives every rank of this host the leader's result: all of it in an all_reduce, its own share in a reduce_scatter.
Status deliver_on_host(HostsContext& context, Flight& flight, const GroupCall& call);

}  // namespace hocket
