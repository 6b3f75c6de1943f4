// What passes ask of nodes and tensors again and again.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "hocket/ir/graph.h"

namespace hocket {

bool is_op(const Graph& graph, NodeId id, std::string_view name);
inline bool is_getitem(const Graph& graph, NodeId id) { return is_op(graph, id, "getitem"); }

// Of tensors whose sizes are numbers: the strides of a dense row-major one, and whether a tensor has such strides. The stride of a
// dim of one element says nothing.
std::vector<std::int64_t> dense_strides(Dims shape);
bool has_strides(const TypeView& type, const std::vector<std::int64_t>& strides);
// Dense and row-major; never where a size or stride is symbolic.
bool is_contiguous(const TypeView& type);

// Dtype, sizes and strides; not where it begins.
bool same_type(const TypeView& a, const TypeView& b);

// The sizes of a list that is an argument are numbers, and all the same. True for none.
bool are_equal_sizes(const Graph& graph, const Arg& list);

// By storage: the last node that writes it; none() where no node does.
std::vector<NodeId> last_writes(const Graph& graph);
// Does a node behind `first` and before `last` write the tensor of `value`, or anything in its storage?
bool written_between(const Graph& graph, NodeId value, NodeId first, NodeId last);

// By node: the first wait of a collective; none() where there is none.
std::vector<NodeId> first_waits(const Graph& graph);
// Is the node a collective from before `at` that may still be under way there? `waits` are first_waits().
bool is_in_flight(const Graph& graph, const std::vector<NodeId>& waits, NodeId id, NodeId at);

}  // namespace hocket
