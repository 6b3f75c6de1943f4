// Which ranks share a host.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace hocket {

// The same text for processes that can share memory and meet at a Unix socket: the running kernel, the host's name, and the
// network namespace, which abstract sockets belong to.
std::string host_key();

// The number of each rank's host; hosts are numbered in the order of their lowest ranks.
std::vector<std::int32_t> number_hosts(const std::vector<std::string>& keys);

}  // namespace hocket
