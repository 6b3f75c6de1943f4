// How the places of a group lie on hosts, and what each host can reduce by itself.
#pragma once

#include <cstdint>
#include <vector>

namespace hocket {

// Places that one host combines before anything travels: a whole subtree of the reduction's tree (see reduce.h).
struct Piece {
  std::int32_t first = 0;  // places [first, last)
  std::int32_t last = 0;
  std::int32_t host = 0;
  std::int32_t places() const { return last - first; }
  friend bool operator==(const Piece&, const Piece&) = default;
};

class HostsLayout {
 public:
  // `hosts` has any number for each place's host, the same for places of the same host; `place` is this rank's.
  HostsLayout(const std::vector<std::int32_t>& hosts, std::int32_t place);

  std::int32_t size() const { return static_cast<std::int32_t>(host_of_.size()); }
  std::int32_t hosts() const { return static_cast<std::int32_t>(members_.size()); }
  std::int32_t place() const { return place_; }
  std::int32_t host() const { return host_of(place_); }
  // Hosts are numbered in the order of their first places.
  std::int32_t host_of(std::int32_t place) const { return host_of_[static_cast<std::size_t>(place)]; }
  // In ascending order, which is the order of the host's own group.
  const std::vector<std::int32_t>& members(std::int32_t host) const { return members_[static_cast<std::size_t>(host)]; }
  const std::vector<std::int32_t>& locals() const { return members(host()); }
  std::int32_t local_index(std::int32_t place) const { return index_[static_cast<std::size_t>(place)]; }
  // The first member talks to other hosts.
  std::int32_t leader(std::int32_t host) const { return members(host).front(); }
  bool leads() const { return leader(host()) == place_; }
  // Whether the places of this host stand side by side.
  bool locals_are_neighbours() const {
    return locals().back() - locals().front() + 1 == static_cast<std::int32_t>(locals().size());
  }

  // The largest subtrees that lie on one host each, in the order of places.
  const std::vector<Piece>& pieces() const { return pieces_; }
  std::int32_t pieces_of(std::int32_t host) const;

 private:
  void find_pieces(std::int32_t first, std::int32_t last);

  std::vector<std::int32_t> host_of_;
  std::vector<std::int32_t> index_;
  std::vector<std::vector<std::int32_t>> members_;
  std::vector<Piece> pieces_;
  std::int32_t place_;
};

// Where the tree divides places [first, last), of which there are two or more.
std::int32_t tree_middle(std::int32_t first, std::int32_t last);

}  // namespace hocket
