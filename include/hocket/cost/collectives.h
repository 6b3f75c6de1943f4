// What a collective takes by a model of its algorithm: rounds of messages, each with a latency and a bandwidth that depend on
// the level of the topology that it crosses. docs/machines.md has the table of rounds and bytes.
//
//   const GroupLayout layout(machine, ranks);
//   const Choice choice = best_algorithm(machine, CollectiveKind::all_reduce, layout, Bytes(1 << 20));
//
// Sizes here are payloads: the whole tensor that is reduced, gathered, scattered or sent, as one rank sees it at its largest
// (of an all_gather the result, of a reduce_scatter the input).
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "hocket/base/ids.h"
#include "hocket/base/units.h"
#include "hocket/cost/machine.h"

namespace hocket {

enum class Algorithm : std::uint8_t {
  one_shot,  // one round: every rank reads what it needs from all others
  two_shot,  // two rounds: each rank makes its part, then everybody reads all parts
  ring,      // rounds of a part each, from neighbour to neighbour, level by level
  tree,      // rounds of everything each, up and down a binomial tree, level by level
  direct,    // one round: every pair of ranks exchanges its part
};

std::string_view name_of(Algorithm algorithm);
std::optional<Algorithm> algorithm_from_name(std::string_view name);

// Where the ranks of a group lie: which levels they span, and with how many ranks at each.
class GroupLayout {
 public:
  struct Level {
    std::size_t index = 0;   // in Machine::levels
    std::int64_t fan = 1;    // blocks of the level inside it that one block of this level joins
    std::int64_t peers = 0;  // the most ranks that one rank reaches across this level
  };

  // Ranks may come in any order.
  GroupLayout(const Machine& machine, std::span<const Rank> ranks);

  std::int64_t size() const { return size_; }
  std::span<const Level> levels() const& { return levels_; }  // those that are crossed, inner to outer
  // The levels as rings and trees go through them. They nest only where all blocks of a level hold equally many ranks;
  // otherwise there is one ring or tree of all ranks, at the outermost level that they span.
  std::span<const Level> nested() const& { return nested_; }
  bool one_host() const { return one_host_; }

 private:
  std::int64_t size_ = 0;
  std::vector<Level> levels_;
  std::vector<Level> nested_;
  bool one_host_ = true;
};

// Which algorithms a kind has. One-shot and two-shot read the memory of other ranks: only where the group is in one host.
std::vector<Algorithm> algorithms_of(CollectiveKind kind, const GroupLayout& layout);

// Nothing where the kind has no such algorithm. The machine's launch overhead is in it; a group of one rank takes nothing.
std::optional<Nanoseconds> collective_time(const Machine& machine, CollectiveKind kind, const GroupLayout& layout,
                                           Algorithm algorithm, Bytes payload);

struct Choice {
  Algorithm algorithm = Algorithm::ring;
  Nanoseconds time;
};
// The fastest by the models; of equally fast ones the first in the order of the enum.
Choice best_algorithm(const Machine& machine, CollectiveKind kind, const GroupLayout& layout, Bytes payload);
// By the machine's measured thresholds where it has some for this kind and so many ranks, otherwise best_algorithm().
Choice choose_algorithm(const Machine& machine, CollectiveKind kind, const GroupLayout& layout, Bytes payload);

// The payload of a collective that moves so many bytes, inputs plus outputs: 2n of an all_reduce of n, n + n/G of an all_gather.
Bytes payload_of(CollectiveKind kind, std::int64_t group_size, Bytes moved);

}  // namespace hocket
