#include "hocket/cost/collectives.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bitset>
#include <map>
#include <numeric>
#include <tuple>

namespace hocket {
namespace {

// Pairs, boards of two pairs, hosts of two boards, a network: each level slower than the one inside it.
Machine layered() {
  Machine machine;
  machine.ranks_per_host = 8;
  machine.launch_overhead = Nanoseconds::from_picoseconds(700'000);
  const auto us = [](std::int64_t count) { return Nanoseconds::from_picoseconds(count * 1'000'000); };
  machine.levels = {
      {"pair", 2, us(1), 100e9}, {"board", 4, us(3), 40e9}, {"host", 8, us(4), 25e9}, {"net", 0, us(10), 10e9}};
  return machine;
}

std::vector<Rank> ranks(const std::vector<int>& numbers) {
  std::vector<Rank> list;
  for (const int number : numbers) list.push_back(Rank{number});
  return list;
}

// --- the algorithms, message by message, with the data that they move

// What a rank has of each part of the payload: the ranks whose contributions are in it.
using Contributions = std::bitset<64>;

class Wires {
 public:
  Wires(const Machine& machine, const std::vector<int>& ranks)
      : machine_(machine), ranks_(ranks), size_(ranks.size()), has_(size_, std::vector<Contributions>(size_)) {}

  std::size_t size() const { return size_; }
  Contributions& has(std::size_t member, std::size_t part) { return has_[member][part]; }

  // Sends parts; they arrive at the end of the round, added to what is there.
  void send(std::size_t from, std::size_t to, const std::vector<std::size_t>& parts, double part_bytes) {
    const std::size_t level = level_between(ranks_[from], ranks_[to]);
    busy_[{from, level, 0}] += static_cast<double>(parts.size()) * part_bytes;
    busy_[{to, level, 1}] += static_cast<double>(parts.size()) * part_bytes;
    for (const std::size_t part : parts) arriving_.emplace_back(to, part, has_[from][part]);
  }
  void end_round() {
    double longest = 0;
    for (const auto& [wire, bytes] : busy_) {
      const TopologyLevel& level = machine_.levels[std::get<1>(wire)];
      longest = std::max(longest, level.latency.ns() + bytes / level.bandwidth * 1e9);
    }
    for (const auto& [to, part, what] : arriving_) has_[to][part] |= what;
    ns_ += longest;
    busy_.clear();
    arriving_.clear();
  }
  double ns() const { return ns_; }

 private:
  std::size_t level_between(int a, int b) const {
    std::size_t level = 0;
    while (level + 1 < machine_.levels.size() && a / machine_.levels[level].ranks != b / machine_.levels[level].ranks)
      ++level;
    return level;
  }

  const Machine& machine_;
  const std::vector<int>& ranks_;
  std::size_t size_;
  std::vector<std::vector<Contributions>> has_;
  std::map<std::tuple<std::size_t, std::size_t, int>, double> busy_;  // member, level, direction
  std::vector<std::tuple<std::size_t, std::size_t, Contributions>> arriving_;
  double ns_ = 0;
};

// A group whose members have coordinates: fans[0] members in a block, fans[1] blocks in the next larger one, …
struct Grid {
  std::vector<std::size_t> fans;

  std::size_t stride(std::size_t level) const {
    return std::accumulate(fans.begin(), fans.begin() + std::ptrdiff_t(level), std::size_t{1}, std::multiplies<>());
  }
  std::size_t at(std::size_t member, std::size_t level) const { return member / stride(level) % fans[level]; }
  std::size_t moved(std::size_t member, std::size_t level, std::size_t to) const {
    return member + (to - at(member, level)) * stride(level);
  }
  // The parts that a member is still responsible for: they have its coordinates below the level, and `here` at it.
  std::vector<std::size_t> parts(std::size_t member, std::size_t level, std::size_t here) const {
    std::vector<std::size_t> list;
    for (std::size_t part = 0; part < stride(fans.size()); ++part) {
      if (part % stride(level) == member % stride(level) && at(part, level) == here) list.push_back(part);
    }
    return list;
  }
};

void ring_scatter(Wires& wires, const Grid& grid, double bytes) {
  for (std::size_t level = 0; level < grid.fans.size(); ++level) {
    const std::size_t fan = grid.fans[level];
    for (std::size_t round = 0; round + 1 < fan; ++round) {
      for (std::size_t member = 0; member < wires.size(); ++member) {
        const std::size_t me = grid.at(member, level);
        const std::size_t part = (me + 2 * fan - 1 - round) % fan;
        wires.send(member, grid.moved(member, level, (me + 1) % fan), grid.parts(member, level, part), bytes);
      }
      wires.end_round();
    }
  }
}

void ring_gather(Wires& wires, const Grid& grid, double bytes) {
  for (std::size_t level = grid.fans.size(); level-- > 0;) {
    const std::size_t fan = grid.fans[level];
    for (std::size_t round = 0; round + 1 < fan; ++round) {
      for (std::size_t member = 0; member < wires.size(); ++member) {
        const std::size_t me = grid.at(member, level);
        const std::size_t part = (me + fan - round) % fan;
        wires.send(member, grid.moved(member, level, (me + 1) % fan), grid.parts(member, level, part), bytes);
      }
      wires.end_round();
    }
  }
}

std::vector<std::size_t> all_parts(const Wires& wires) {
  std::vector<std::size_t> list(wires.size());
  std::iota(list.begin(), list.end(), std::size_t{0});
  return list;
}

// One step of a binomial tree: who is `apart` from a multiple of twice that is joined with the one below it.
void tree_round(Wires& wires, const Grid& grid, std::size_t level, std::size_t apart, bool up, double bytes) {
  for (std::size_t member = 0; member < wires.size(); ++member) {
    const std::size_t me = grid.at(member, level);
    if (member % grid.stride(level) != 0 || me % (2 * apart) != apart) continue;
    const std::size_t below = grid.moved(member, level, me - apart);
    wires.send(up ? member : below, up ? below : member, all_parts(wires), bytes);
  }
  wires.end_round();
}

void tree_up(Wires& wires, const Grid& grid, double bytes) {
  for (std::size_t level = 0; level < grid.fans.size(); ++level) {
    for (std::size_t apart = 1; apart < grid.fans[level]; apart *= 2)
      tree_round(wires, grid, level, apart, true, bytes);
  }
}

void tree_down(Wires& wires, const Grid& grid, double bytes) {
  for (std::size_t level = grid.fans.size(); level-- > 0;) {
    std::size_t apart = 1;
    while (2 * apart < grid.fans[level]) apart *= 2;
    for (; apart > 0; apart /= 2) tree_round(wires, grid, level, apart, false, bytes);
  }
}

// Every member sends every other one what `parts` says, in one round.
template <class Parts>
void exchange(Wires& wires, double bytes, Parts&& parts) {
  for (std::size_t from = 0; from < wires.size(); ++from) {
    for (std::size_t to = 0; to < wires.size(); ++to) {
      if (from != to) wires.send(from, to, parts(from, to), bytes);
    }
  }
  wires.end_round();
}

using Parts = std::vector<std::size_t>;
Parts part_of_receiver(std::size_t, std::size_t to) { return {to}; }
Parts part_of_sender(std::size_t from, std::size_t) { return {from}; }
Parts part_of_receiver_from_the_first(std::size_t from, std::size_t to) { return from == 0 ? Parts{to} : Parts{}; }

void run(Wires& wires, const Grid& grid, CollectiveKind kind, Algorithm algorithm, double bytes) {
  const auto everything = [&](std::size_t, std::size_t) { return all_parts(wires); };
  const auto everything_from_the_first = [&](std::size_t from, std::size_t) {
    return from == 0 ? all_parts(wires) : Parts{};
  };
  const bool broadcasts = kind == CollectiveKind::broadcast;
  switch (algorithm) {
    case Algorithm::one_shot:
      if (kind == CollectiveKind::all_reduce) exchange(wires, bytes, everything);
      if (broadcasts) exchange(wires, bytes, everything_from_the_first);
      if (kind == CollectiveKind::all_gather) exchange(wires, bytes, part_of_sender);
      if (kind == CollectiveKind::reduce_scatter) exchange(wires, bytes, part_of_receiver);
      break;
    case Algorithm::two_shot:
      if (broadcasts) exchange(wires, bytes, part_of_receiver_from_the_first);
      else exchange(wires, bytes, part_of_receiver);
      exchange(wires, bytes, part_of_sender);
      break;
    case Algorithm::ring:
      if (broadcasts) exchange(wires, bytes, part_of_receiver_from_the_first);
      else if (kind != CollectiveKind::all_gather) ring_scatter(wires, grid, bytes);
      if (kind != CollectiveKind::reduce_scatter) ring_gather(wires, grid, bytes);
      break;
    case Algorithm::tree:
      if (!broadcasts) tree_up(wires, grid, bytes);
      tree_down(wires, grid, bytes);
      break;
    case Algorithm::direct: exchange(wires, bytes, part_of_receiver); break;
  }
}

void load(Wires& wires, CollectiveKind kind) {
  for (std::size_t member = 0; member < wires.size(); ++member) {
    for (std::size_t part = 0; part < wires.size(); ++part) {
      const bool has = kind == CollectiveKind::broadcast    ? member == 0
                       : kind == CollectiveKind::all_gather ? member == part
                                                            : true;
      if (has) wires.has(member, part).set(member);
    }
  }
}

// Who must be in a part that a member ends with; nothing where it need not have it.
Contributions wanted(CollectiveKind kind, std::size_t size, std::size_t member, std::size_t part) {
  Contributions all;
  for (std::size_t i = 0; i < size; ++i) all.set(i);
  switch (kind) {
    case CollectiveKind::all_reduce: return all;
    case CollectiveKind::all_gather: return Contributions().set(part);
    case CollectiveKind::broadcast: return Contributions().set(0);
    default: return member == part ? all : Contributions();  // from everyone, its own part
  }
}

struct Sample {
  std::vector<int> group;
  std::vector<std::size_t> fans;
};

const Sample samples[] = {
    {{0, 1}, {2}},
    {{0, 2}, {2}},
    {{0, 1, 2, 3}, {2, 2}},
    {{0, 1, 2, 3, 4, 5, 6, 7}, {2, 2, 2}},
    {{0, 8, 16}, {3}},
    {{1, 3, 5, 7}, {2, 2}},
    {{0, 1, 8, 9, 16, 17}, {2, 3}},
    {{0, 4, 8, 12, 16, 20, 24, 28, 32, 36}, {2, 5}},
    {{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15}, {2, 2, 2, 2}},
    {{0, 8, 16, 24, 32, 40, 48}, {7}},
};

TEST(CollectiveModel, equals_the_algorithm_carried_out_message_by_message) {
  const Machine machine = layered();
  constexpr double part_bytes = 12'000;
  int compared = 0;
  for (const Sample& sample : samples) {
    const GroupLayout layout(machine, ranks(sample.group));
    const auto payload = Bytes(static_cast<std::int64_t>(part_bytes) * layout.size());
    for (const CollectiveKind kind :
         {CollectiveKind::all_reduce, CollectiveKind::all_gather, CollectiveKind::reduce_scatter,
          CollectiveKind::all_to_all, CollectiveKind::broadcast}) {
      for (const Algorithm algorithm :
           {Algorithm::one_shot, Algorithm::two_shot, Algorithm::ring, Algorithm::tree, Algorithm::direct}) {
        const auto modelled = collective_time(machine, kind, layout, algorithm, payload);
        if (!modelled) continue;
        Wires wires(machine, sample.group);
        load(wires, kind);
        run(wires, Grid{sample.fans}, kind, algorithm, part_bytes);
        const std::string what = fmt::format("{} {} of {}", name_of(algorithm), name_of(kind), sample.group.size());
        for (std::size_t member = 0; member < wires.size(); ++member) {
          for (std::size_t part = 0; part < wires.size(); ++part) {
            const Contributions want = wanted(kind, wires.size(), member, part);
            ASSERT_EQ(wires.has(member, part) & want, want) << what;
          }
        }
        EXPECT_NEAR((*modelled - machine.launch_overhead).ns(), wires.ns(), 0.002) << what;
        ++compared;
      }
    }
  }
  EXPECT_EQ(compared, 10 * 13);
}

// --- layouts

TEST(GroupLayout, says_which_levels_a_group_spans) {
  const Machine machine = layered();
  const auto spans = [&](const std::vector<int>& group) {
    const GroupLayout layout(machine, ranks(group));
    std::string text;
    for (const auto& level : layout.levels())
      text += fmt::format("{}:{}/{} ", machine.levels[level.index].name, level.fan, level.peers);
    return text;
  };
  EXPECT_EQ(spans({0, 1}), "pair:2/1 ");
  EXPECT_EQ(spans({1, 2}), "board:2/1 ");
  EXPECT_EQ(spans({3, 4}), "host:2/1 ");
  EXPECT_EQ(spans({7, 8}), "net:2/1 ");
  EXPECT_EQ(spans({9, 8, 1, 0}), "pair:2/1 net:2/2 ");
  EXPECT_EQ(spans({0, 1, 2, 3, 4, 5, 6, 7}), "pair:2/1 board:2/2 host:2/4 ");
  EXPECT_EQ(spans({5}), "");
}

TEST(GroupLayout, of_unequal_blocks_is_one_ring_at_the_outermost_level) {
  const Machine machine = layered();
  const GroupLayout layout(machine, ranks({0, 1, 8}));
  ASSERT_EQ(layout.nested().size(), 1U);
  EXPECT_EQ(layout.nested()[0].fan, 3);
  EXPECT_EQ(machine.levels[layout.nested()[0].index].name, "net");
  EXPECT_EQ(layout.levels().size(), 2U);
  // 2 rounds of a third each across the network
  const auto time = collective_time(machine, CollectiveKind::all_gather, layout, Algorithm::ring, Bytes(30'000));
  EXPECT_EQ(*time - machine.launch_overhead, Nanoseconds::from_ns(2 * (10'000 + 1'000)));
}

TEST(GroupLayout, knows_whether_a_group_is_in_one_host) {
  const Machine machine = layered();
  EXPECT_TRUE(GroupLayout(machine, ranks({0, 7})).one_host());
  EXPECT_FALSE(GroupLayout(machine, ranks({0, 8})).one_host());
  EXPECT_FALSE(GroupLayout(machine, ranks({0, 1, 8})).one_host());
  EXPECT_TRUE(GroupLayout(machine, ranks({8, 9, 15})).one_host());
}

// --- choices

TEST(BestAlgorithm, one_shot_for_small_then_two_shot_or_ring) {
  const Machine machine = layered();
  const GroupLayout layout(machine, ranks({0, 1, 2, 3, 4, 5, 6, 7}));
  const auto best = [&](std::int64_t bytes) {
    return best_algorithm(machine, CollectiveKind::all_reduce, layout, Bytes(bytes)).algorithm;
  };
  EXPECT_EQ(best(8), Algorithm::one_shot);
  EXPECT_EQ(best(64 << 20), Algorithm::ring);
}

TEST(BestAlgorithm, is_never_slower_than_any_other) {
  const Machine machine = layered();
  for (const Sample& sample : samples) {
    const GroupLayout layout(machine, ranks(sample.group));
    for (std::int64_t bytes = 1; bytes < 1 << 30; bytes *= 8) {
      for (const CollectiveKind kind :
           {CollectiveKind::all_reduce, CollectiveKind::broadcast, CollectiveKind::all_gather}) {
        const Choice best = best_algorithm(machine, kind, layout, Bytes(bytes));
        for (const Algorithm other : algorithms_of(kind, layout))
          EXPECT_LE(best.time, *collective_time(machine, kind, layout, other, Bytes(bytes)));
      }
    }
  }
}

TEST(BestAlgorithm, reads_no_memory_of_other_hosts) {
  const Machine machine = layered();
  const GroupLayout layout(machine, ranks({0, 8}));
  EXPECT_EQ(algorithms_of(CollectiveKind::all_reduce, layout), (std::vector{Algorithm::ring, Algorithm::tree}));
  EXPECT_EQ(algorithms_of(CollectiveKind::all_gather, layout), (std::vector{Algorithm::ring}));
}

TEST(ChooseAlgorithm, goes_by_measured_thresholds_where_there_are_some) {
  Machine machine = layered();
  machine.thresholds = {{CollectiveKind::all_reduce, 2, Bytes(1000), Bytes(1000)},
                        {CollectiveKind::all_reduce, 4, Bytes(100), Bytes(5000)}};
  const auto choice = [&](const std::vector<int>& group, std::int64_t bytes) {
    return choose_algorithm(machine, CollectiveKind::all_reduce, GroupLayout(machine, ranks(group)), Bytes(bytes))
        .algorithm;
  };
  EXPECT_EQ(choice({0, 1}, 1000), Algorithm::one_shot);
  EXPECT_EQ(choice({0, 1}, 1001), Algorithm::ring);
  EXPECT_EQ(choice({0, 1, 2}, 1000), Algorithm::one_shot);
  EXPECT_EQ(choice({0, 1, 2, 3}, 100), Algorithm::one_shot);
  EXPECT_EQ(choice({0, 1, 2, 3}, 5000), Algorithm::two_shot);
  EXPECT_NE(choice({0, 1, 2, 3}, 5001), Algorithm::two_shot);
  EXPECT_NE(choice({0, 8}, 10), Algorithm::one_shot);  // not in one host
}

TEST(CollectiveModel, of_one_rank_takes_nothing) {
  const Machine machine = layered();
  const GroupLayout alone(machine, ranks({3}));
  EXPECT_EQ(collective_time(machine, CollectiveKind::all_reduce, alone, Algorithm::ring, Bytes(1 << 20)),
            Nanoseconds());
  EXPECT_EQ(best_algorithm(machine, CollectiveKind::p2p, alone, Bytes(1)).time, Nanoseconds());
}

TEST(CollectiveModel, a_send_takes_one_message_as_far_as_the_group_reaches) {
  const Machine machine = layered();
  const GroupLayout layout(machine, ranks({0, 8}));
  EXPECT_EQ(*collective_time(machine, CollectiveKind::p2p, layout, Algorithm::direct, Bytes(10'000)),
            Nanoseconds::from_ns(700 + 10'000 + 1'000));
}

TEST(PayloadOf, undoes_what_a_collective_moves) {
  EXPECT_EQ(payload_of(CollectiveKind::all_reduce, 8, Bytes(4096 + 4096)), Bytes(4096));
  EXPECT_EQ(payload_of(CollectiveKind::all_gather, 8, Bytes(4096 + 512)), Bytes(4096));
  EXPECT_EQ(payload_of(CollectiveKind::reduce_scatter, 3, Bytes(300 + 100)), Bytes(300));
  EXPECT_EQ(payload_of(CollectiveKind::all_to_all, 8, Bytes(100)), Bytes(50));
}

TEST(Algorithm, has_a_name_that_reads_back) {
  for (const Algorithm algorithm :
       {Algorithm::one_shot, Algorithm::two_shot, Algorithm::ring, Algorithm::tree, Algorithm::direct})
    EXPECT_EQ(algorithm_from_name(name_of(algorithm)), algorithm);
  EXPECT_FALSE(algorithm_from_name("telepathy"));
}

}  // namespace
}  // namespace hocket
