// Which all_reduces average gradients.
#pragma once

#include <compare>
#include <optional>
#include <string>

#include "hocket/fuse/comm_block.h"

namespace hocket::fuse {

// What one bucket has in common.
struct GradientKind {
  GroupId group;
  std::string reduce_op;
  Dtype reduced = Dtype::f32;   // of the all_reduce
  Dtype gradient = Dtype::f32;  // of what is divided
  double divisor = 0;           // 0: there is none, the all_reduce averages by itself
  DeviceId device;

  friend auto operator<=>(const GradientKind&, const GradientKind&) = default;
};

struct GradientAverage {
  CommBlock block;
  GradientKind kind;
  Bytes bytes;

  bool divides() const { return kind.divisor != 0; }
  // What stands for it in the order of the graph: the division, which the bucket does instead, or the all_reduce.
  NodeId anchor() const { return divides() ? block.input() : block.collective; }
};

// The reason as an error where it is none.
Result<GradientAverage> gradient_average(const Graph& graph, const Users& users, NodeId all_reduce);

// The results of one bucket are views of one tensor. If somebody wrote into one of them, a collective in place most of all, the users of
// the others would have to wait for that. `last_write` are last_writes().
Status check_only_read(const Graph& graph, const std::vector<NodeId>& last_write, const CommBlock& block);

// The divisor, if the node divides a tensor by a number.
std::optional<double> divisor_of(const Graph& graph, NodeId id);

// "sum" of "SUM": names of reduce operations are case-insensitive.
std::string reduce_operation(const Graph& graph, NodeId collective);

}  // namespace hocket::fuse
