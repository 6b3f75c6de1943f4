// The collectives that bucket_all_gather or bucket_reduce_scatter may merge.
#pragma once

#include <compare>
#include <string>
#include <vector>

#include "fuse/windows.h"

namespace hocket::fuse {

// What one bucket has in common.
struct CollectiveKey {
  GroupId group;
  Dtype dtype = Dtype::f32;
  std::string reduce_op;
  DeviceId device;

  friend auto operator<=>(const CollectiveKey&, const CollectiveKey&) = default;
};

struct Candidate {
  CommBlock block;
  CollectiveKey key;
  Bytes bytes_in;
  Bytes bytes_out;

  std::uint32_t position() const { return block.collective.value; }
  std::uint32_t wait_position() const { return block.wait().value; }
  Bytes larger_side() const { return std::max(bytes_in, bytes_out); }
};

struct Candidates {
  std::vector<Candidate> list;  // in program order
  std::vector<std::string> notes;

  std::vector<NodeId> waits() const;
};

// Where the members' waits stand once they are one collective behind `position`. A wait that stood behind it stays. One that stood
// before it goes to the first of those that stay, or to where its result is needed if that is earlier: any later, and all that
// the fused collective reads would live longer.
std::vector<std::uint32_t> wait_positions(const std::vector<const Candidate*>& members, const Windows& windows,
                                          std::uint32_t position);

// Those of operator `op`, "_c10d_functional.all_gather_into_tensor.default".
Candidates find_candidates(const Graph& graph, std::string_view op);

}  // namespace hocket::fuse
