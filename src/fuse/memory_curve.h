// The bytes that live at each position of a graph's order, and what they would be if something lived longer. O(log n) for each range.
#pragma once

#include <cstdint>
#include <vector>

#include "hocket/ir/graph.h"

namespace hocket::fuse {

class PeakCurve {
 public:
  // A storage lives from the node that creates it to the last that touches it or an alias; what a collective reads lives until its
  // wait; inputs live throughout, results to the end.
  explicit PeakCurve(const Graph& graph);

  // Positions begin … end-1. An empty range changes nothing and has a highest of 0.
  void add(std::uint32_t begin, std::uint32_t end, Bytes bytes);
  Bytes highest(std::uint32_t begin, std::uint32_t end) const;
  Bytes peak() const { return highest(0, static_cast<std::uint32_t>(size_)); }

 private:
  // A segment tree: `top` is the highest below a node without what its ancestors add, `added` what the node adds to all below it.
  struct Node {
    std::int64_t top = 0;
    std::int64_t added = 0;
  };
  void add(std::size_t node, std::size_t from, std::size_t to, std::size_t begin, std::size_t end, std::int64_t bytes);
  std::int64_t highest(std::size_t node, std::size_t from, std::size_t to, std::size_t begin, std::size_t end) const;
  void build(std::size_t node, std::size_t from, std::size_t to, const std::vector<std::int64_t>& live);

  std::size_t size_ = 0;
  std::vector<Node> nodes_;
};

}  // namespace hocket::fuse
