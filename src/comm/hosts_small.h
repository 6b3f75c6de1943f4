// Calls whose inputs fit on the cards of the greeting: when all have greeted, everyone has all inputs.
#pragma once

#include "comm/hosts_greeting.h"

namespace hocket {

// Bytes of this rank's input; nothing of a broadcast from elsewhere.
std::int64_t input_bytes(const GroupCall& call, const HostsLayout& layout);
// The parts of the input, one behind the other.
std::vector<std::byte> packed_input(const GroupCall& call, const HostsLayout& layout);
// Writes the output, from the cards.
void finish_small(const GroupCall& call, const HostsLayout& layout, const Greeting& greeting);

}  // namespace hocket
