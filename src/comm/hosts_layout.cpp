#include "comm/hosts_layout.h"

#include <algorithm>
#include <bit>
#include <map>

namespace hocket {

std::int32_t tree_middle(std::int32_t first, std::int32_t last) {
  return first + static_cast<std::int32_t>(std::bit_floor(static_cast<std::uint32_t>(last - first - 1)));
}

HostsLayout::HostsLayout(const std::vector<std::int32_t>& hosts, std::int32_t place) : place_(place) {
  std::map<std::int32_t, std::int32_t> numbers;
  for (std::int32_t at = 0; at < static_cast<std::int32_t>(hosts.size()); ++at) {
    const auto next = static_cast<std::int32_t>(numbers.size());
    const std::int32_t host = numbers.try_emplace(hosts[static_cast<std::size_t>(at)], next).first->second;
    if (host == static_cast<std::int32_t>(members_.size())) members_.emplace_back();
    std::vector<std::int32_t>& its = members_[static_cast<std::size_t>(host)];
    host_of_.push_back(host);
    index_.push_back(static_cast<std::int32_t>(its.size()));
    its.push_back(at);
  }
  find_pieces(0, size());
}

std::int32_t HostsLayout::pieces_of(std::int32_t host) const {
  return static_cast<std::int32_t>(
      std::count_if(pieces_.begin(), pieces_.end(), [&](const Piece& piece) { return piece.host == host; }));
}

void HostsLayout::find_pieces(std::int32_t first, std::int32_t last) {
  const auto begin = host_of_.begin();
  const std::int32_t host = host_of(first);
  if (std::all_of(begin + first, begin + last, [&](std::int32_t one) { return one == host; })) {
    pieces_.push_back({first, last, host});
    return;
  }
  const std::int32_t middle = tree_middle(first, last);
  find_pieces(first, middle);
  find_pieces(middle, last);
}

}  // namespace hocket
