// Collectives by definition: what each rank gets, from what all ranks gave. No algorithm, no rounds, no chunks.
#pragma once

#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "hocket/ir/op_table.h"
#include "support/interpreter_operators.h"

namespace hocket::interpreter {

// The members of a group, in the group's order.
using Members = std::vector<int>;

// A program is captured on one rank, and names that rank's groups. Here every rank of the world runs it, each in its own
// group of that kind: the groups of a mesh are shifted copies of each other that cover the world once, and there is at most
// one way to lay them out (the lowest rank that is left must be the lowest of its group). Where there is none, a rank
// outside the group stands in for the rank that captured the program: it gets what that one would have got, had it
// given this rank's values.
std::vector<Members> groups_of_ranks(const Members& captured, int captured_rank, int world);

enum class Reduce { sum, average, product, minimum, maximum, bit_and, bit_or, bit_xor, premultiplied_sum };
std::optional<Reduce> reduce_from_name(std::string_view name);  // any case

// One collective of one tensor. `given` has every rank's tensor; `members` is the group of `rank`, which is in it.
struct Exchange {
  std::span<const Tensor> given;
  const Members& members;
  int rank;

  std::size_t position() const;  // of the rank among the members
};

std::vector<Word> all_reduce(const Exchange& exchange, Reduce reduce);
std::vector<Word> all_gather(const Exchange& exchange);
std::vector<Word> reduce_scatter(const Exchange& exchange, Reduce reduce);
std::vector<Word> broadcast(const Exchange& exchange, std::int64_t source);  // a position in the group

// Rows of dim 0. sent[i]: the split list of rank i, what it sends to each position of its group. received: what this rank expects
// from each position. In a program that all ranks run with one rank's splits these need not fit each other; a rank then
// gets as many rows as it expects, read on from where its part begins, and from the start again after the last row.
std::vector<Word> all_to_all(const Exchange& exchange, std::span<const Sizes> sent, const Sizes& received);

// What all_gather and reduce_scatter do with the first dim, along another.
std::vector<Word> all_gather_along(const Exchange& exchange, std::size_t dim);
std::vector<Word> reduce_scatter_along(const Exchange& exchange, Reduce reduce, std::size_t dim);

// Split along one dim, joined along another.
std::vector<Word> shard_dim_all_to_all(const Exchange& exchange, std::size_t gather_dim, std::size_t shard_dim);

}  // namespace hocket::interpreter
