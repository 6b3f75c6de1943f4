#include "hocket/cost/collectives.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>

namespace hocket {

namespace {

constexpr std::array<std::string_view, 5> algorithm_names = {"one_shot", "two_shot", "ring", "tree", "direct"};

// The link model. In a round every rank sends and receives at once; a message waits for nothing but the round before. What a
// rank sends across one level shares its bandwidth there; different levels are different wires and work side by side. So a
// round takes as long as the slowest level in it: latency + bytes / bandwidth.
class Rounds {
 public:
  Rounds(const Machine& machine, const GroupLayout& layout, double payload)
      : machine_(machine), layout_(layout), payload_(payload) {}

  // One round in which each rank gets `bytes` from every other.
  double exchange(double bytes) const {
    double slowest = 0;
    for (const GroupLayout::Level& level : layout_.levels())
      slowest = std::max(slowest, message(level, static_cast<double>(level.peers) * bytes));
    return slowest;
  }

  // Scatters or gathers around rings: inside the innermost blocks first, with the part that is left outwards from there (or
  // the other way round). A ring of g ranks takes g-1 rounds of a g-th.
  double ring() const {
    double total = 0;
    double part = payload_;
    for (const GroupLayout::Level& level : layout_.nested()) {
      part /= static_cast<double>(level.fan);
      total += static_cast<double>(level.fan - 1) * message(level, part);
    }
    return total;
  }

  // Everything up or down a binomial tree: in each block first, then between the blocks' first ranks.
  double tree() const {
    double total = 0;
    for (const GroupLayout::Level& level : layout_.nested()) {
      const auto rounds = std::bit_width(static_cast<std::uint64_t>(level.fan - 1));  // log2, rounded up
      total += static_cast<double>(rounds) * message(level, payload_);
    }
    return total;
  }

  // One message between two ranks that lie as far apart as the group reaches.
  double farthest() const { return message(layout_.levels().back(), payload_); }

  double part() const { return payload_ / static_cast<double>(layout_.size()); }
  double payload() const { return payload_; }

 private:
  double message(const GroupLayout::Level& level, double bytes) const {
    const TopologyLevel& wire = machine_.levels[level.index];
    return wire.latency.ns() + bytes / wire.bandwidth * 1e9;
  }

  const Machine& machine_;
  const GroupLayout& layout_;
  double payload_;
};

std::optional<double> all_reduce(const Rounds& rounds, Algorithm algorithm) {
  switch (algorithm) {
    case Algorithm::one_shot: return rounds.exchange(rounds.payload());
    case Algorithm::two_shot: return 2 * rounds.exchange(rounds.part());
    case Algorithm::ring: return 2 * rounds.ring();
    case Algorithm::tree: return 2 * rounds.tree();
    case Algorithm::direct: return std::nullopt;
  }
  return std::nullopt;
}

// all_gather and reduce_scatter are each other run backwards.
std::optional<double> gather_or_scatter(const Rounds& rounds, Algorithm algorithm) {
  if (algorithm == Algorithm::one_shot) return rounds.exchange(rounds.part());
  if (algorithm == Algorithm::ring) return rounds.ring();
  return std::nullopt;
}

std::optional<double> broadcast(const Rounds& rounds, Algorithm algorithm) {
  switch (algorithm) {
    case Algorithm::one_shot: return rounds.exchange(rounds.payload());  // all read from the one
    case Algorithm::two_shot: return 2 * rounds.exchange(rounds.part());
    case Algorithm::ring: return rounds.exchange(rounds.part()) + rounds.ring();  // scattered, then gathered
    case Algorithm::tree: return rounds.tree();
    case Algorithm::direct: return std::nullopt;
  }
  return std::nullopt;
}

std::optional<double> nanoseconds(const Rounds& rounds, CollectiveKind kind, Algorithm algorithm) {
  switch (kind) {
    case CollectiveKind::all_reduce: return all_reduce(rounds, algorithm);
    case CollectiveKind::all_gather:
    case CollectiveKind::reduce_scatter: return gather_or_scatter(rounds, algorithm);
    case CollectiveKind::broadcast: return broadcast(rounds, algorithm);
    case CollectiveKind::all_to_all:
      return algorithm == Algorithm::direct ? std::optional(rounds.exchange(rounds.part())) : std::nullopt;
    case CollectiveKind::p2p: return algorithm == Algorithm::direct ? std::optional(rounds.farthest()) : std::nullopt;
  }
  return std::nullopt;
}

// The row of measured thresholds with the most ranks that the group still has.
const AlgorithmThreshold* threshold_for(const Machine& machine, CollectiveKind kind, std::int64_t ranks) {
  const AlgorithmThreshold* best = nullptr;
  for (const AlgorithmThreshold& row : machine.thresholds) {
    if (row.kind == kind && row.ranks <= ranks && (best == nullptr || row.ranks > best->ranks)) best = &row;
  }
  return best;
}

Choice fastest(const Machine& machine, CollectiveKind kind, const GroupLayout& layout,
               std::span<const Algorithm> algorithms, Bytes payload) {
  std::optional<Choice> best;
  for (const Algorithm algorithm : algorithms) {
    const auto time = collective_time(machine, kind, layout, algorithm, payload);
    if (time && (!best || *time < best->time)) best = Choice{algorithm, *time};
  }
  return best.value_or(Choice{});
}

}  // namespace

std::string_view name_of(Algorithm algorithm) { return algorithm_names[static_cast<std::size_t>(algorithm)]; }

std::optional<Algorithm> algorithm_from_name(std::string_view name) {
  const auto found = std::find(algorithm_names.begin(), algorithm_names.end(), name);
  if (found == algorithm_names.end()) return std::nullopt;
  return static_cast<Algorithm>(found - algorithm_names.begin());
}

std::vector<Algorithm> algorithms_of(CollectiveKind kind, const GroupLayout& layout) {
  std::vector<Algorithm> algorithms;
  switch (kind) {
    case CollectiveKind::all_reduce:
    case CollectiveKind::broadcast:
      algorithms = {Algorithm::one_shot, Algorithm::two_shot, Algorithm::ring, Algorithm::tree};
      break;
    case CollectiveKind::all_gather:
    case CollectiveKind::reduce_scatter: algorithms = {Algorithm::one_shot, Algorithm::ring}; break;
    case CollectiveKind::all_to_all:
    case CollectiveKind::p2p: algorithms = {Algorithm::direct}; break;
  }
  if (layout.one_host()) return algorithms;
  std::erase_if(algorithms, [](Algorithm a) { return a == Algorithm::one_shot || a == Algorithm::two_shot; });
  return algorithms;
}

std::optional<Nanoseconds> collective_time(const Machine& machine, CollectiveKind kind, const GroupLayout& layout,
                                           Algorithm algorithm, Bytes payload) {
  if (layout.levels().empty()) return Nanoseconds();  // nobody else is there
  const Rounds rounds(machine, layout, static_cast<double>(std::max<std::int64_t>(payload.count, 0)));
  const std::optional<double> ns = nanoseconds(rounds, kind, algorithm);
  if (!ns) return std::nullopt;
  return Nanoseconds::from_ns(*ns) + machine.launch_overhead;
}

Choice best_algorithm(const Machine& machine, CollectiveKind kind, const GroupLayout& layout, Bytes payload) {
  return fastest(machine, kind, layout, algorithms_of(kind, layout), payload);
}

Choice choose_algorithm(const Machine& machine, CollectiveKind kind, const GroupLayout& layout, Bytes payload) {
  const AlgorithmThreshold* row = layout.one_host() ? threshold_for(machine, kind, layout.size()) : nullptr;
  if (row == nullptr) return best_algorithm(machine, kind, layout, payload);
  std::vector<Algorithm> measured = {Algorithm::ring, Algorithm::tree, Algorithm::direct};
  if (payload <= row->one_shot) measured = {Algorithm::one_shot};
  else if (payload <= row->two_shot) measured = {Algorithm::two_shot};
  const std::vector<Algorithm> possible = algorithms_of(kind, layout);
  std::erase_if(measured,
                [&](Algorithm a) { return std::find(possible.begin(), possible.end(), a) == possible.end(); });
  if (measured.empty()) return best_algorithm(machine, kind, layout, payload);
  return fastest(machine, kind, layout, measured, payload);
}

Bytes payload_of(CollectiveKind kind, std::int64_t group_size, Bytes moved) {
  const bool one_side_is_a_part = kind == CollectiveKind::all_gather || kind == CollectiveKind::reduce_scatter;
  if (!one_side_is_a_part || group_size < 1) return Bytes(moved.count / 2);
  const double share = static_cast<double>(group_size) / static_cast<double>(group_size + 1);
  return Bytes(std::llround(static_cast<double>(moved.count) * share));
}

}  // namespace hocket
